"""Runs Claude's Agent SDK as a program of its users does: python claude-agent-sdk.py MODEL PROMPT"""

import asyncio
import sys

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query


async def main(model: str, prompt: str) -> None:
    options = ClaudeAgentOptions(model=model, permission_mode="acceptEdits")
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            print(message.result)


asyncio.run(main(*sys.argv[1:]))
