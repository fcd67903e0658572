"""Playing: everything that starts, resumes or steps a run, or renders its prompts."""
