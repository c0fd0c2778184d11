package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// errFailed is a response that failed: the library has no error for it, its users look at the event.
var errFailed = errors.New("response.failed")

func init() {
	refused := map[string]string{
		"wrong key":               "openai.Error",
		"unknown model":           "openai.Error",
		"refused by the provider": "openai.Error",
		"broken stream":           "stream error",
	}
	failed := map[string]string{"broken stream": "response.failed"}
	for cause, class := range refused {
		if failed[cause] == "" {
			failed[cause] = class
		}
	}
	const module = "github.com/openai/openai-go/v3"
	register(client{
		name: "openai-go chat", module: module, api: "openai", errors: refused, describe: describeOpenAI, ask: askChat,
		// Chat completions cannot ask to see thoughts; of these models all but Google's show them unasked.
		shows: func(c *cell) bool { return !strings.HasPrefix(c.Model, "google/") },
	})
	register(client{
		name: "openai-go stored responses", module: module, api: "openai", errors: failed, describe: describeOpenAI,
		ask: askResponses,
	})
}

func describeOpenAI(err error) (string, int, string) {
	var refused *openai.Error
	if errors.As(err, &refused) {
		return "openai.Error", refused.StatusCode, refused.Message
	}
	if errors.Is(err, errFailed) {
		return "response.failed", 0, err.Error()
	}
	// An error event of a stream is an error without a type.
	if strings.Contains(err.Error(), "received error while streaming") {
		return "stream error", 0, err.Error()
	}
	return fmt.Sprintf("%T", err), 0, err.Error()
}

func connectOpenAI(c *cell) openai.Client {
	return openai.NewClient(option.WithBaseURL(c.url+"/v1"), option.WithAPIKey(c.Key), option.WithMaxRetries(0))
}

func askChat(ctx context.Context, c *cell) (answer, error) {
	library := connectOpenAI(c)
	body := openai.ChatCompletionNewParams{Model: c.Model}
	for _, each := range c.Tools {
		body.Tools = append(body.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: each.Name, Description: param.NewOpt(each.Description), Parameters: each.Schema,
		}))
	}
	if c.Thinking {
		body.ReasoningEffort = shared.ReasoningEffortHigh
	}
	var got answer
	for _, prompt := range c.Prompts {
		body.Messages = append(body.Messages, openai.UserMessage(prompt))
		for {
			c.restart()
			message, thoughts, err := chatMessage(ctx, library, body, c)
			if err != nil {
				return got, err
			}
			got.reasoning += thoughts
			body.Messages = append(body.Messages, message.ToParam())
			if len(message.ToolCalls) == 0 {
				got.texts = append(got.texts, message.Content)
				break
			}
			for _, called := range message.ToolCalls {
				result := c.callTool(called.Function.Name, argumentsOf(called.Function.Arguments))
				body.Messages = append(body.Messages, openai.ToolMessage(result, called.ID))
			}
		}
	}
	return got, nil
}

func argumentsOf(text string) map[string]any {
	var arguments map[string]any
	_ = json.Unmarshal([]byte(text), &arguments)
	return arguments
}

func chatMessage(
	ctx context.Context, library openai.Client, body openai.ChatCompletionNewParams, c *cell,
) (openai.ChatCompletionMessage, string, error) {
	if !c.Stream {
		completion, err := library.Chat.Completions.New(ctx, body)
		if err != nil {
			return openai.ChatCompletionMessage{}, "", err
		}
		message := completion.Choices[0].Message
		return message, textOf(message.JSON.ExtraFields["reasoning_content"].Raw()), nil
	}
	stream := library.Chat.Completions.NewStreaming(ctx, body)
	whole := openai.ChatCompletionAccumulator{}
	thoughts := ""
	for stream.Next() {
		chunk := stream.Current()
		whole.AddChunk(chunk)
		if len(chunk.Choices) > 0 {
			c.onPiece(chunk.Choices[0].Delta.Content)
			thoughts += textOf(chunk.Choices[0].Delta.JSON.ExtraFields["reasoning_content"].Raw())
		}
	}
	if err := stream.Err(); err != nil {
		return openai.ChatCompletionMessage{}, "", err
	}
	return whole.Choices[0].Message, thoughts, nil
}

// textOf is the text in a piece of JSON.
func textOf(raw string) string {
	var text string
	_ = json.Unmarshal([]byte(raw), &text)
	return text
}

// askResponses continues by previous_response_id: the library has no way to send an output item back.
func askResponses(ctx context.Context, c *cell) (answer, error) {
	library := connectOpenAI(c)
	body := responses.ResponseNewParams{Model: c.Model}
	for _, each := range c.Tools {
		body.Tools = append(body.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: each.Name, Description: param.NewOpt(each.Description), Parameters: each.Schema,
			Strict: param.NewOpt(false),
		}})
	}
	if c.Thinking {
		body.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffortHigh, Summary: shared.ReasoningSummaryAuto}
	}
	var got answer
	for _, prompt := range c.Prompts {
		items := responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage(prompt, responses.EasyInputMessageRoleUser),
		}
		for {
			c.restart()
			body.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: items}
			response, err := wholeResponse(ctx, library, body, c)
			if err != nil {
				return got, err
			}
			body.PreviousResponseID = param.NewOpt(response.ID)
			items = responses.ResponseInputParam{}
			for _, item := range response.Output {
				for _, summary := range item.Summary {
					got.reasoning += summary.Text
				}
				if item.Type == "function_call" {
					called := item.AsFunctionCall()
					result := c.callTool(called.Name, argumentsOf(called.Arguments))
					output := responses.ResponseInputItemParamOfFunctionCallOutput(result)
					output.OfFunctionCallOutput.CallID = param.NewOpt(called.CallID)
					items = append(items, output)
				}
			}
			if len(items) == 0 {
				got.texts = append(got.texts, response.OutputText())
				break
			}
		}
	}
	return got, nil
}

func wholeResponse(
	ctx context.Context, library openai.Client, body responses.ResponseNewParams, c *cell,
) (*responses.Response, error) {
	if !c.Stream {
		return library.Responses.New(ctx, body)
	}
	var whole *responses.Response
	stream := library.Responses.NewStreaming(ctx, body)
	for stream.Next() {
		event := stream.Current()
		switch event.Type {
		case "response.output_text.delta":
			c.onPiece(event.AsResponseOutputTextDelta().Delta)
		case "response.completed":
			response := event.AsResponseCompleted().Response
			whole = &response
		case "response.failed":
			return nil, fmt.Errorf("%w: %s", errFailed, event.AsResponseFailed().Response.Error.Message)
		}
	}
	return whole, stream.Err()
}
