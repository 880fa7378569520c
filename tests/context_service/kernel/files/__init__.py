"""Tests of files in messages: their facts, tokens and limits."""
