"""What is made of text: long documents cleaned, and long sequences whose facts lie scattered over the whole window."""
