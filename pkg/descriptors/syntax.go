package descriptors

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// How much of a file is parsed again to find the line of a syntax error.
const (
	searchLines = 100
	searchBytes = 4 << 20
)

// faultLine is the line at which a file stops being YAML: the one behind the
// longest beginning of the file that is. The parser's own line is where the
// construct around the fault begins, which may be far above it; the search goes
// on from there. It is that line where the search finds nothing.
func faultLine(data []byte, parser int) int {
	line, end := 1, 0
	for line < parser && end < len(data) {
		end += lineLength(data[end:])
		line++
	}
	found, parsed := parser, 0
	for range searchLines {
		if parsed += end; parsed > searchBytes || end >= len(data) {
			break
		}
		if isYAML(data[:end]) {
			found = line
		}
		end += lineLength(data[end:])
		line++
	}
	return found
}

func lineLength(data []byte) int {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1
	}
	return len(data)
}

func isYAML(data []byte) bool {
	var doc yaml.Node
	return yaml.Unmarshal(data, &doc) == nil
}
