"""Playing: everything that starts, resumes or steps a run, renders its prompts, or holds a tournament."""
