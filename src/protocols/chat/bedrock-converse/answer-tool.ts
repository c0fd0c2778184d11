// The tool that an answer of a given form is asked for with, from models that hold nothing but a tool's input to a
// schema. The name says what it is on the way back, so no state is kept: its input is the answer's text.

export const ANSWER_TOOL = "trivium_answer"

export const ANSWER_DESCRIPTION = "Gives the answer to the user. It is the only way to answer, and ends the turn."
