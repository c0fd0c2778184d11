// The tool that requests a response with a schema from models that enforce schemas only on tool input. Its name
// identifies it in the response, so no state is needed: its input is the response's text.

export const ANSWER_TOOL = "trivium_answer"

export const ANSWER_DESCRIPTION = "Gives the answer to the user. It is the only way to answer, and ends the turn."
