package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genai"
)

func init() {
	register(client{
		name: "genai-go", module: "google.golang.org/genai", api: "gemini",
		errors: map[string]string{
			"wrong key":               "genai.APIError",
			"unknown model":           "genai.APIError",
			"refused by the provider": "genai.APIError",
			"broken stream":           "genai.APIError",
		},
		describe: describeGenai, ask: askGenerate,
	})
}

func describeGenai(err error) (string, int, string) {
	var refused genai.APIError
	if !errors.As(err, &refused) {
		return fmt.Sprintf("%T", err), 0, err.Error()
	}
	// Where it cannot read the error it keeps the raw body as its message.
	if refused.Status == "" || len(refused.Message) > 0 && refused.Message[0] == '{' {
		return "genai.APIError that could not be read", refused.Code, refused.Message
	}
	return "genai.APIError", refused.Code, refused.Message
}

func askGenerate(ctx context.Context, c *cell) (answer, error) {
	var got answer
	library, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: c.Key, Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: c.url + "/gemini"},
	})
	if err != nil {
		return got, err
	}
	config := &genai.GenerateContentConfig{}
	var declarations []*genai.FunctionDeclaration
	for _, each := range c.Tools {
		declarations = append(declarations, &genai.FunctionDeclaration{
			Name: each.Name, Description: each.Description, ParametersJsonSchema: each.Schema,
		})
	}
	if len(declarations) > 0 {
		config.Tools = []*genai.Tool{{FunctionDeclarations: declarations}}
	}
	if c.Thinking {
		config.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: genai.Ptr[int32](2048)}
	}
	var contents []*genai.Content
	for _, prompt := range c.Prompts {
		contents = append(contents, genai.NewContentFromText(prompt, genai.RoleUser))
		for {
			c.restart()
			parts, err := generate(ctx, library, contents, config, c)
			if err != nil {
				return got, err
			}
			contents = append(contents, genai.NewContentFromParts(parts, genai.RoleModel))
			text := ""
			var results []*genai.Part
			for _, part := range parts {
				if part.Thought {
					got.reasoning += part.Text
				} else {
					text += part.Text
				}
				if called := part.FunctionCall; called != nil {
					response := map[string]any{"output": c.callTool(called.Name, called.Args)}
					results = append(results, &genai.Part{FunctionResponse: &genai.FunctionResponse{
						ID: called.ID, Name: called.Name, Response: response,
					}})
				}
			}
			if len(results) == 0 {
				got.texts = append(got.texts, text)
				break
			}
			contents = append(contents, genai.NewContentFromParts(results, genai.RoleUser))
		}
	}
	return got, nil
}

func generate(
	ctx context.Context, library *genai.Client, contents []*genai.Content, config *genai.GenerateContentConfig, c *cell,
) ([]*genai.Part, error) {
	if !c.Stream {
		response, err := library.Models.GenerateContent(ctx, c.Model, contents, config)
		if err != nil {
			return nil, err
		}
		return response.Candidates[0].Content.Parts, nil
	}
	var parts []*genai.Part
	for chunk, err := range library.Models.GenerateContentStream(ctx, c.Model, contents, config) {
		if err != nil {
			return nil, err
		}
		if len(chunk.Candidates) == 0 || chunk.Candidates[0].Content == nil {
			continue
		}
		for _, part := range chunk.Candidates[0].Content.Parts {
			// The library writes a part with an empty text as one without any content, which is none.
			if part.Text == "" && part.FunctionCall == nil {
				continue
			}
			parts = append(parts, part)
			if !part.Thought {
				c.onPiece(part.Text)
			}
		}
	}
	return parts, nil
}
