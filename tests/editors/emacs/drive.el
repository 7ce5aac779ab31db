;;; drive.el --- What the sessions in Emacs share: waiting, keys, and noting facts  -*- lexical-binding: t; -*-

(require 'json)
(require 'cl-lib)
(require 'imenu)
(require 'subr-x)

(defvar drive-facts nil "What was noted, newest first.")

(defun drive-note (name value)
  "Note VALUE, which JSON can hold, under NAME."
  (push (cons name value) drive-facts))

(defun drive-wait (what condition)
  "Wait until CONDITION holds; an error names WHAT did not come."
  (let ((deadline (time-add nil 60)) found)
    (while (not (setq found (funcall condition)))
      (when (time-less-p deadline nil)
        (error "Waited in vain for %s" what))
      (accept-process-output nil 0.05))
    found))

(defun drive-keys (keys)
  "Press KEYS, as `kbd' names them, in the window that shows the current buffer."
  (set-window-buffer (selected-window) (current-buffer))
  (execute-kbd-macro (kbd keys)))

(defun drive-choose (command words)
  "Call COMMAND with M-x and take from its menu the entry that begins with WORDS, by completing them."
  (let ((typed (mapconcat (lambda (sign) (if (eq sign ?\s) "C-q SPC" (string sign))) words " ")))
    (drive-keys (format "M-x %s RET %s TAB RET" command typed))))

(defvar drive-offered nil "What the last menu offered.")

(defun drive-answers (&rest words)
  "A stand-in for `completing-read' whose menus are answered with the entries that begin with WORDS, menu by menu.
The server opens the second menu while no key is waited for, so no keys can be pressed for it."
  (lambda (_prompt collection &rest _)
    (setq drive-offered (all-completions "" collection))
    (let ((word (pop words)))
      (or (cl-find-if (lambda (entry) (string-prefix-p word entry)) drive-offered)
          (error "No entry begins with %s among %s" word drive-offered)))))

(defun drive-text ()
  "The text of the buffer."
  (buffer-substring-no-properties (point-min) (point-max)))

(defun drive-go (line)
  "Put the cursor on LINE."
  (goto-char (point-min))
  (forward-line (1- line)))

(defun drive-imenu-names ()
  "The names that `imenu' offers, as one list."
  (let (names)
    (cl-labels ((walk (entries)
                  (dolist (entry entries)
                    (if (imenu--subalist-p entry)
                        (walk (cdr entry))
                      (push (substring-no-properties (car entry)) names)))))
      (walk (imenu--make-index-alist t)))
    (nreverse names)))

(defun drive-drawn ()
  "What overlays draw beside the text, each with its line."
  (let (drawn)
    (dolist (overlay (overlays-in (point-min) (1+ (point-max))))
      (let ((text (or (overlay-get overlay 'before-string) (overlay-get overlay 'after-string))))
        (when text
          (push `((line . ,(line-number-at-pos (overlay-end overlay)))
                  (text . ,(string-trim (substring-no-properties text))))
                drawn))))
    (vconcat drawn)))

(defun drive-mode-line ()
  "The end of the mode line, where what is not the mode's own stands."
  (mapconcat (lambda (part) (if (symbolp part) (symbol-value part) "")) mode-line-misc-info ""))

(defun drive-kinds (attached)
  "Open a sample of each kind of transcript, and note how many messages each has, once ATTACHED says that the server has
it. Where the mode of its name is not that of chats, call that by hand, as the page says."
  (drive-note
   'kinds
   (mapcar (lambda (file)
             (find-file file)
             (unless (derived-mode-p 'lithify-chat-mode)
               (drive-keys "M-x lithify-chat-mode RET"))
             (drive-wait (concat "the server of " file) attached)
             (cons file (length (drive-imenu-names))))
           (mapcar #'expand-file-name (split-string (getenv "SAMPLES"))))))

(defun drive-read-only (attached)
  "Open a chat that can only be read, and note what stands there of it, once ATTACHED says that the server has it."
  (find-file (expand-file-name "read-only.json" (file-name-directory (getenv "CHAT"))))
  (drive-keys "M-x lithify-chat-mode RET")
  (drive-wait "the server of the chat that can only be read" attached)
  (drive-imenu-names)
  (flymake-start)
  (drive-wait "why nothing can be compacted" #'flymake-diagnostics)
  (drive-note 'read_only (flymake-diagnostic-text (car (flymake-diagnostics)))))

(defun drive-long-chat (command attached)
  "Compact the long chat beside this one with COMMAND, once ATTACHED says that the server has it."
  (find-file (expand-file-name "long.jsonl" (file-name-directory (getenv "CHAT"))))
  (drive-wait "the server of the long chat" attached)
  (let ((before (drive-text)))
    (drive-choose command "Compact conversation")
    (drive-wait "the edit of the long chat" (lambda () (not (equal (drive-text) before))))
    (drive-note 'long (count-lines (point-min) (point-max)))))

(defun drive-session (chat body)
  "Open CHAT as a user does, run BODY in it, write the facts down, and quit as a user does."
  (condition-case problem
      (progn
        (find-file chat)
        (funcall body))
    (error (drive-note 'problem (error-message-string problem))))
  (drive-note 'messages (with-current-buffer (messages-buffer) (buffer-string)))
  (let ((coding-system-for-write 'utf-8))
    (with-temp-file (getenv "FACTS")
      (insert (json-encode drive-facts))))
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer (set-buffer-modified-p nil)))
  (drive-keys "C-x C-c"))
