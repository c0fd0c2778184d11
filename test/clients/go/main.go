// Drives the Go libraries: reads the cells from the standard input, holds each conversation with each registered
// client, and prints one line of JSON for each cell. A library adds itself with register in an init function.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

type job struct {
	URL       string `json:"url"`
	TimeoutMs int    `json:"timeoutMs"`
	Library   string `json:"library"`
	Cells     []cell `json:"cells"`
}

// A cell is the task of a client, and the functions by which it reports its progress.
type cell struct {
	Model    string   `json:"model"`
	Scenario string   `json:"scenario"`
	Key      string   `json:"key"`
	Prompts  []string `json:"prompts"`
	Stream   bool     `json:"stream"`
	Thinking bool     `json:"thinking"`
	Tools    []tool   `json:"tools"`
	Failure  string   `json:"failure"`

	url    string
	calls  []call
	pieces []string
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      map[string]any `json:"schema"`
}

type call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

func (c *cell) callTool(name string, arguments map[string]any) string {
	c.calls = append(c.calls, call{name, map[string]any{"city": arguments["city"]}})
	return fmt.Sprintf("%s of %s: fine", name, arguments["city"])
}

func (c *cell) onPiece(piece string) {
	if piece != "" {
		c.pieces = append(c.pieces, piece)
	}
}

// restart begins a new answer: only the pieces of the last one count.
func (c *cell) restart() { c.pieces = []string{} }

type answer struct {
	texts     []string
	reasoning string
}

// A client is one way to use a library.
type client struct {
	name   string
	module string
	api    string
	// errors has the type that the library returns for each cause of failure.
	errors map[string]string
	// shows says whether the library has a place for the thoughts of a model; nil means always.
	shows func(*cell) bool
	// describe has the type, the status and the message of an error.
	describe func(error) (string, int, string)
	ask      func(context.Context, *cell) (answer, error)
}

var clients []client

func register(c client) { clients = append(clients, c) }

type observation struct {
	Library   string         `json:"library"`
	Version   string         `json:"version"`
	API       string         `json:"api"`
	Model     string         `json:"model"`
	Scenario  string         `json:"scenario"`
	Texts     []string       `json:"texts,omitempty"`
	Pieces    []string       `json:"pieces"`
	Reasoning *string        `json:"reasoning,omitempty"`
	Calls     []call         `json:"calls"`
	Error     *observedError `json:"error,omitempty"`
}

type observedError struct {
	Class         string `json:"class"`
	ExpectedClass string `json:"expectedClass"`
	Status        int    `json:"status,omitempty"`
	Message       string `json:"message"`
}

func observe(c client, given cell, j job) observation {
	given.url = j.URL
	given.calls, given.pieces = []call{}, []string{}
	tag := fmt.Sprintf("[cell %s | %s | %s]", c.name, given.Model, given.Scenario)
	given.Prompts = append([]string{tag + " " + given.Prompts[0]}, given.Prompts[1:]...)
	seen := observation{
		Library: c.name, Version: versionOf(c.module), API: c.api, Model: given.Model, Scenario: given.Scenario,
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(j.TimeoutMs)*time.Millisecond)
	defer cancel()
	got, err := c.ask(ctx, &given)
	seen.Texts, seen.Pieces, seen.Calls = got.texts, given.pieces, given.calls
	if err != nil {
		class, status, message := c.describe(err)
		expected := c.errors[given.Failure]
		if expected == "" {
			expected = "no error"
		}
		seen.Error = &observedError{class, expected, status, message}
	} else if given.Thinking && (c.shows == nil || c.shows(&given)) {
		seen.Reasoning = &got.reasoning
	}
	return seen
}

func versionOf(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}

func main() {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	results := json.NewEncoder(os.Stdout)
	for _, c := range clients {
		if !strings.Contains(c.name, j.Library) {
			continue
		}
		for _, given := range j.Cells {
			if err := results.Encode(observe(c, given, j)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
}
