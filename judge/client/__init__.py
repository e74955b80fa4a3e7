"""The judge call: one Request to an OpenAI-compatible endpoint, one Reply back, or a JudgeError.

Covered: the transport, retries, rate limits, refused parameters, and the envelope around the text. Not
covered: reading a verdict out of the text, asking again for an unreadable one, and the cache; those are the
pipeline's. Importing this package loads neither openai nor tenacity: the first call does.
"""

from judge.client.openai_client import OpenAIClient

__all__ = ["OpenAIClient"]
