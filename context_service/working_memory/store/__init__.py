"""SQL of working memory."""
