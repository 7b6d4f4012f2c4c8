package descriptors

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The types of scalars as yaml.v2 tells them apart, which is what rule files have
// been written for. The parser here is yaml.v3: it takes the words of YAML 1.1's
// booleans for text, and has dates.
const (
	textType   = "!!str"
	boolType   = "!!bool"
	intType    = "!!int"
	floatType  = "!!float" // and integers from 2^63 on
	nullType   = "!!null"
	binaryType = "!!binary"
)

var booleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "true": true, "True": true, "TRUE": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "false": false, "False": false, "FALSE": false,
	"off": false, "Off": false, "OFF": false,
}

// typeNames say of a key what a reader may not see.
var typeNames = map[string]string{boolType: ", a boolean", intType: ", a number", floatType: ", a number"}

func typeOf(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	switch tag := n.ShortTag(); tag {
	case "!!str":
		if _, ok := booleans[n.Value]; ok && n.Style == 0 {
			return boolType
		}
		return textType
	case "!!int":
		if _, err := parseInt(n.Value); err != nil {
			return floatType
		}
		return intType
	case "!!bool", "!!float", "!!null", "!!binary":
		return tag
	default:
		return textType
	}
}

// parseInt reads 017, 0o17, 0x10, 0b101, 1_000 and +7.
func parseInt(text string) (int64, error) {
	return strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64)
}

func isText(n *yaml.Node) bool { return typeOf(n) == textType }

func isNull(n *yaml.Node) bool { return typeOf(n) == nullType }

func isMerge(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge" }
