"""Prompt texts that people edit: prompts/<world>/<variant>/{system,turn}.{en,zh}.md."""
