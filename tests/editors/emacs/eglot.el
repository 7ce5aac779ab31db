;;; eglot.el --- A session in Emacs with the snippet for eglot, by the keys that a user presses  -*- lexical-binding: t; -*-

(load (getenv "DRIVE"))
(load (getenv "CONFIGURATION"))

(drive-session
 (getenv "CHAT")
 (lambda ()
   (drive-keys "M-x ignore RET") ; eglot-ensure starts the server after the next command
   (drive-wait "the server" #'eglot-managed-p)
   (drive-note 'before (drive-text))
   (drive-note 'symbols (vconcat (drive-imenu-names)))

   (drive-keys "M-> RET") ; an edit before, which the undo of the compaction must leave alone
   (eglot--signal-textDocument/didChange) ; what an idle Emacs does by itself
   (let ((before (drive-text)))
     (drive-go 4)
     (drive-note 'menu (vconcat (mapcar (lambda (action) (plist-get action :title)) (eglot-code-actions (point)))))
     (drive-choose "eglot-code-actions" "Compact up to here (")
     (drive-wait "the edit" (lambda () (not (equal (drive-text) before))))
     (drive-note 'after (drive-text))
     (drive-keys "C-/")
     (drive-note 'undone (drive-text))
     (drive-note 'typed before)

     (drive-go 4)
     (drive-choose "eglot-code-actions" "Preview")
     (drive-wait "the preview" (lambda () (get-buffer "*lithify preview*")))
     (drive-note 'preview (with-current-buffer "*lithify preview*" (drive-text)))
     (drive-keys "C-x 1")

     (drive-go 4)
     (cl-letf (((symbol-function 'completing-read) (drive-answers "Compact up to here with" "Decisions"))
               (last-nonmenu-event t))
       (call-interactively #'eglot-code-actions)
       (drive-wait "the edit with instructions" (lambda () (not (equal (drive-text) before)))))
     (drive-note 'focuses (vconcat drive-offered))
     (drive-keys "C-/"))

   (drive-note 'progress (vector (with-current-buffer (messages-buffer) (buffer-string))))

   (load (getenv "SESSION"))
   (drive-note 'session (jsonrpc-request (eglot-current-server) :lithify/getSession '(:sessionId "my-chat")))
   (drive-wait "the status of the buffer" (lambda () (string-match-p "2 waiting" (drive-mode-line))))
   (drive-note 'status (drive-mode-line))
   (jsonrpc-request (eglot-current-server) :workspace/executeCommand
                    '(:command "lithify.extract_now" :arguments [nil]))
   (drive-wait "the status of the memory" (lambda () (string-match-p "idle, 0 waiting" (drive-mode-line))))
   (drive-note 'status_after (drive-mode-line))
   (drive-keys "M-x lithify-search-memory RET receipt RET")
   (drive-note 'found (with-current-buffer "*lithify memory*" (drive-text)))
   (drive-kinds #'eglot-managed-p)
   (drive-read-only #'eglot-managed-p)
   (drive-long-chat "eglot-code-actions" #'eglot-managed-p)))
