"""The Context Service: working memory and chat history, over gRPC."""
