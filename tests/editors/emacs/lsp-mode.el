;;; lsp-mode.el --- A session in Emacs with the snippet for lsp-mode, by the keys that a user presses  -*- lexical-binding: t; -*-

(load (getenv "DRIVE"))
(load (getenv "CONFIGURATION"))

(defvar drive-progress nil "What the mode line said of progress, newest first.")

;; Draws as lsp-mode does, and keeps what the mode line then says.
(setq lsp-progress-function
      (lambda (&rest told)
        (apply #'lsp-on-progress-modeline told)
        (push (lsp--progress-status) drive-progress)))

(drive-session
 (getenv "CHAT")
 (lambda ()
   (lsp-workspace-folders-add default-directory) ; the answer to what lsp-mode asks of a new project
   (drive-keys "M-x lsp RET")
   (drive-wait "the server" (lambda () (and (lsp-workspaces) (lsp-feature? "textDocument/codeAction"))))
   (drive-note 'before (drive-text))
   (drive-note 'symbols (vconcat (drive-imenu-names)))
   (drive-keys "M-x lsp-lens-show RET")
   (drive-note 'lenses (drive-drawn))

   (drive-keys "M-> RET") ; an edit before, which the undo of the compaction must leave alone
   (let ((before (drive-text)))
     (drive-go 4)
     (drive-note 'menu (vconcat (seq-map (lambda (action) (lsp-get action :title)) (lsp-code-actions-at-point))))
     (drive-choose "lsp-execute-code-action" "Compact up to here (")
     (drive-wait "the edit" (lambda () (not (equal (drive-text) before))))
     (drive-note 'after (drive-text))
     (drive-keys "C-/")
     (drive-note 'undone (drive-text))
     (drive-note 'typed before)

     (drive-go 4)
     (drive-choose "lsp-execute-code-action" "Preview")
     (drive-wait "the preview" (lambda () (get-buffer "*lithify preview*")))
     (drive-note 'preview (with-current-buffer "*lithify preview*" (drive-text)))
     (drive-keys "C-x 1")

     (drive-go 4)
     (cl-letf (((symbol-function 'completing-read) (drive-answers "Compact up to here with" "Decisions"))
               (last-nonmenu-event t))
       (call-interactively #'lsp-execute-code-action)
       (drive-wait "the edit with instructions" (lambda () (not (equal (drive-text) before)))))
     (drive-note 'focuses (vconcat drive-offered))
     (drive-keys "C-/"))

   (drive-note 'progress (vconcat drive-progress))

   (load (getenv "SESSION"))
   (drive-note 'session (lsp-request "lithify/getSession" '(:sessionId "my-chat")))
   (drive-wait "the status of the buffer" (lambda () (string-match-p "2 waiting" (drive-mode-line))))
   (drive-note 'status (drive-mode-line))
   (lsp-request "workspace/executeCommand" '(:command "lithify.extract_now" :arguments [nil]))
   (drive-wait "the status of the memory" (lambda () (string-match-p "idle, 0 waiting" (drive-mode-line))))
   (drive-note 'status_after (drive-mode-line))
   (drive-keys "M-x lithify-search-memory RET receipt RET")
   (drive-note 'found (with-current-buffer "*lithify memory*" (drive-text)))
   (drive-kinds (lambda () (drive-keys "M-x lsp RET") (lsp-workspaces)))
   (drive-read-only (lambda () (drive-keys "M-x lsp RET") (lsp-workspaces)))
   (drive-long-chat "lsp-execute-code-action" (lambda () (drive-keys "M-x lsp RET") (lsp-workspaces)))))
