package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func init() {
	register(client{
		name: "anthropic-go", module: "github.com/anthropics/anthropic-sdk-go", api: "anthropic",
		errors: map[string]string{
			"wrong key":               "anthropic.Error",
			"unknown model":           "anthropic.Error",
			"refused by the provider": "anthropic.Error",
			"broken stream":           "anthropic.Error",
		},
		describe: describeAnthropic, ask: askMessages,
	})
}

func describeAnthropic(err error) (string, int, string) {
	var refused *anthropic.Error
	if errors.As(err, &refused) {
		return "anthropic.Error", refused.StatusCode, err.Error()
	}
	return fmt.Sprintf("%T", err), 0, err.Error()
}

func askMessages(ctx context.Context, c *cell) (answer, error) {
	library := anthropic.NewClient(
		option.WithBaseURL(c.url+"/anthropic"), option.WithAPIKey(c.Key), option.WithMaxRetries(0),
	)
	body := anthropic.MessageNewParams{Model: anthropic.Model(c.Model), MaxTokens: 8192}
	for _, each := range c.Tools {
		body.Tools = append(body.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: each.Name, Description: anthropic.String(each.Description),
			InputSchema: anthropic.ToolInputSchemaParam{
				Properties: each.Schema["properties"], Required: []string{"city"},
			},
		}})
	}
	if c.Thinking {
		body.Thinking = anthropic.ThinkingConfigParamOfEnabled(2048)
	}
	var got answer
	for _, prompt := range c.Prompts {
		body.Messages = append(body.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(prompt)))
		for {
			c.restart()
			message, err := message(ctx, library, body, c)
			if err != nil {
				return got, err
			}
			body.Messages = append(body.Messages, message.ToParam())
			var results []anthropic.ContentBlockParamUnion
			for _, block := range message.Content {
				switch block := block.AsAny().(type) {
				case anthropic.ThinkingBlock:
					got.reasoning += block.Thinking
				case anthropic.ToolUseBlock:
					var arguments map[string]any
					_ = json.Unmarshal(block.Input, &arguments)
					result := c.callTool(block.Name, arguments)
					results = append(results, anthropic.NewToolResultBlock(block.ID, result, false))
				}
			}
			if len(results) == 0 {
				// Many users read the last block, and Anthropic's own answers end in text.
				got.texts = append(got.texts, message.Content[len(message.Content)-1].Text)
				break
			}
			body.Messages = append(body.Messages, anthropic.NewUserMessage(results...))
		}
	}
	return got, nil
}

func message(
	ctx context.Context, library anthropic.Client, body anthropic.MessageNewParams, c *cell,
) (*anthropic.Message, error) {
	if !c.Stream {
		return library.Messages.New(ctx, body)
	}
	stream := library.Messages.NewStreaming(ctx, body)
	whole := anthropic.Message{}
	for stream.Next() {
		event := stream.Current()
		if err := whole.Accumulate(event); err != nil {
			return nil, err
		}
		c.onPiece(event.Delta.Text)
	}
	return &whole, stream.Err()
}
