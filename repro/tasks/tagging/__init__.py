"""CoNLL-2003: named entities as a tag for every word (Tjong Kim Sang and De Meulder 2003)."""
