// Reads `frames.jsonl` and prints a verdict for each line: the errors, and the frame as it is written again.
// Without an argument, it tries what values of the types are written as.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"example.com/generated/frames"
)

type sample struct {
	Root  string
	Frame json.RawMessage
}

type verdict struct {
	Errors  []string        `json:"errors"`
	Written json.RawMessage `json:"written"`
}

// check decodes a frame and encodes it again.
func check(line []byte) verdict {
	var it sample
	if err := json.Unmarshal(line, &it); err != nil {
		return verdict{[]string{err.Error()}, nil}
	}
	var frame any = new(frames.Inbound)
	if it.Root == "Outbound" {
		frame = new(frames.Outbound)
	}
	if err := json.Unmarshal(it.Frame, frame); err != nil {
		return verdict{[]string{err.Error()}, nil}
	}
	written, err := json.Marshal(frame)
	if err != nil {
		return verdict{[]string{err.Error()}, nil}
	}
	return verdict{[]string{}, written}
}

// describe shows how a frame is told by its type.
func describe(line string) string {
	var frame frames.Outbound
	if err := json.Unmarshal([]byte(line), &frame); err != nil {
		return err.Error()
	}
	switch it := frame.Value.(type) {
	case *frames.GetStateResponse:
		return "state of " + it.Data.SessionID
	case *frames.RpcErrorResponse:
		return it.Command + " failed: " + it.Error
	case *frames.Unknown:
		return "of a later version: " + string(it.Raw)
	case frames.AgentSessionEventValue:
		return "an event"
	default:
		return "another frame"
	}
}

func use() {
	prompt, _ := json.Marshal(frames.Inbound{Value: &frames.PromptCommand{Message: "Hello"}})
	fmt.Println(string(prompt))
	fmt.Println(describe(`{"type":"response","command":"prompt","success":false,"error":"no model"}`))
	fmt.Println(describe(`{"type":"agent_start"}`))
	fmt.Println(describe(`{"type":"of_tomorrow","at":1}`))
	fmt.Println(describe(`{"type":7}`))
}

func main() {
	if len(os.Args) == 1 {
		use()
		return
	}
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<26)
	encoder := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := encoder.Encode(check(lines.Bytes())); err != nil {
			panic(err)
		}
	}
}
