"""What is shown: cards and tables in the terminal, pages, charts and exports."""
