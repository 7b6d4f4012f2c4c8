package descriptors

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// metadata reads a mapping of any contents, as JSON would have them.
func (m *members) metadata(word string) map[string]any {
	n := m.value(word)
	if n == nil {
		return nil
	}
	var object map[string]any
	m.reader.enter(n, func(n *yaml.Node) {
		switch {
		case isNull(n):
		case n.Kind == yaml.MappingNode:
			object = m.object(n)
		default:
			m.reader.errorf(typeMismatch, n, m.path, "%s is %s", word, describe(n)).Wanted = "a mapping"
		}
	})
	return object
}

func (m *members) object(n *yaml.Node) map[string]any {
	object, keys := make(map[string]any, len(n.Content)/2), make(map[string]*yaml.Node, len(n.Content)/2)
	m.fill(object, keys, n, false)
	return object
}

func (m *members) fill(object map[string]any, keys map[string]*yaml.Node, n *yaml.Node, merging bool) {
	r := m.reader
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		r.enter(n.Content[i], func(key *yaml.Node) {
			if isMerge(key) {
				r.merge(value, m.path, func(n *yaml.Node) { m.fill(object, keys, n, true) })
				return
			}
			name, ok := m.name(key)
			if !ok {
				return
			}
			if before := keys[name]; before != nil && !merging {
				r.repeated(key, before, m.path)
			}
			keys[name], object[name] = key, m.any(value)
		})
	}
}

// name is a key as text.
func (m *members) name(key *yaml.Node) (string, bool) {
	if key.Kind != yaml.ScalarNode {
		m.reader.errorf(badMetadata, key, m.path, "a key of metadata is %s", describe(key)).Wanted = "text"
		return "", false
	}
	switch v := m.plain(key).(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	default:
		return "null", true
	}
}

func (m *members) any(n *yaml.Node) (v any) {
	m.reader.enter(n, func(n *yaml.Node) {
		switch n.Kind {
		case yaml.MappingNode:
			v = m.object(n)
		case yaml.SequenceNode:
			list := make([]any, len(n.Content))
			for i, item := range n.Content {
				list[i] = m.any(item)
			}
			v = list
		default:
			v = m.plain(n)
		}
	})
	return v
}

// plain is a scalar: text, a boolean, a number or nil.
func (m *members) plain(n *yaml.Node) any {
	text := n.Value
	switch typeOf(n) {
	case nullType:
		return nil
	case boolType:
		return booleans[text]
	case intType, floatType:
		number, ok := parseNumber(text)
		if !ok {
			m.reader.errorf(badMetadata, n, m.path, "metadata has %s", describe(n)).Wanted = "a finite number"
		}
		return number
	case binaryType:
		data, err := base64.StdEncoding.DecodeString(text)
		if text = string(data); err == nil && utf8.ValidString(text) {
			return text
		}
		m.reader.errorf(badMetadata, n, m.path, "metadata has %s", describe(n)).Wanted = "text in UTF-8"
	default:
	}
	return text
}

// parseNumber reads any number that YAML has, as near as a float64 comes.
func parseNumber(text string) (float64, bool) {
	text = strings.ReplaceAll(text, "_", "")
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		return float64(i), true
	}
	if u, err := strconv.ParseUint(text, 0, 64); err == nil {
		return float64(u), true
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}
