"""The cases, one module a subject: `CASES` names its rows, `measure(folder)` gives their figures, in that order."""
