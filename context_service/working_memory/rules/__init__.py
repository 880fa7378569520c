"""Rules of working memory."""
