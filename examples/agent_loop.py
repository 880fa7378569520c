"""The loop of an agent: a window says what its model sees, at step 10,000 as at step 10.

    .venv/bin/python -m pip install openai
    export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_API_KEY=none OPENAI_MODEL=qwen3 CONTEXT_TOKENS=32000
    .venv/bin/python examples/agent_loop.py 'Summarize this project.'

Any endpoint that speaks chat completions will do. Needs `make run` in another terminal. It ends with the id of the
window: with another question after it, the agent continues where it stopped.
"""

import json
import os
import sys
from pathlib import Path

from openai import OpenAI

from contextkeep import ContextClient, MessageInput, PartInput, ToolCallInput, ToolResultInput

MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")
CONTEXT_TOKENS = int(os.environ.get("CONTEXT_TOKENS", "0"))  # context size of the model; 0: the known size
STEPS_MAX = 100
PROJECT = Path.cwd()


def list_files(path):
    """List a folder of the project; the project itself is "."."""
    return sorted(f"{item.name}{'/' * item.is_dir()}" for item in of_project(path).iterdir())


def read_file(path):
    """Read a file of the project."""
    return of_project(path).read_text("utf-8")


def of_project(path):
    """Return a path that the model may see."""
    if not (result := (PROJECT / path).resolve()).is_relative_to(PROJECT):
        raise PermissionError(f"{path} is not of the project")
    return result


TOOLS = {tool.__name__: tool for tool in (list_files, read_file)}
TAKES_A_PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL_SCHEMAS = [
    {"type": "function", "function": {"name": name, "description": tool.__doc__, "parameters": TAKES_A_PATH}}
    for name, tool in TOOLS.items()
]


def called(call):
    """Return a model's call as it is stored. Arguments that are not a JSON object give an error as the result."""
    try:
        arguments = dict(json.loads(call.function.arguments or "{}"))
    except (TypeError, ValueError):
        arguments = {"no_json_object": call.function.arguments}
    return ToolCallInput(id=call.id, name=call.function.name, arguments=arguments)


def answered(call):
    """Run a tool and return its result; the model reads what went wrong."""
    try:
        content, is_error = TOOLS[call.name](**call.arguments), False
    except Exception as error:
        content, is_error = f"{type(error).__name__}: {error}", True
    return ToolResultInput(tool_call_id=call.id, content=content, is_error=is_error)


def record(context, window, pack, usage):
    """Record the billed tokens, from which budgets are kept. Small servers do not report them."""
    if not usage:
        return
    context.windows.record_usage(
        window.window_id,
        epoch=pack.epoch,
        pack_tokens=pack.tokens,
        input_tokens=usage.prompt_tokens,
        cached_tokens=(usage.prompt_tokens_details and usage.prompt_tokens_details.cached_tokens) or 0,
        output_tokens=usage.completion_tokens,
    )


def main(question, window_id=""):
    """Let the model work on a question until it calls no more tools."""
    with ContextClient() as context, OpenAI() as model:
        if window_id:
            window = context.windows.get(window_id)
            context.contexts.append([question], window.context_id)
        else:
            window = context.windows.open(
                context.contexts.append([question])[0].context_id,
                MODEL,
                message_format="openai",
                system_prompt="You answer questions about a project, after looking at its files.",
                tools=TOOL_SCHEMAS,
                context_tokens=CONTEXT_TOKENS,
            )

        for _ in range(STEPS_MAX):
            pack = context.windows.pack(window.window_id)
            completion = model.chat.completions.create(model=MODEL, **pack.body)
            record(context, window, pack, completion.usage)
            message = completion.choices[0].message
            calls = [called(call) for call in message.tool_calls or ()]
            text = message.content or ("" if calls else "(no answer)")
            answer = MessageInput(text, role="assistant", parts=[PartInput(tool_call=call) for call in calls])
            # Store the call before the tool runs, so that a restart after a crash knows about it.
            context.contexts.append([answer], window.context_id)
            if not calls:
                print(text)
                break
            results = [MessageInput(role="tool", parts=[PartInput(tool_result=answered(call))]) for call in calls]
            context.contexts.append(results, window.context_id)
        print(f"window {window.window_id}: {pack.step_count} steps, {pack.tokens:,} tokens")


if __name__ == "__main__":
    main(*sys.argv[1:])
