// Package rules loads rule files, keeps the active set and replaces it when the
// files change. A set that has an error never replaces one that works.
package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/eb50146d/rls/pkg/descriptors"
)

// Read reads the rule files of a directory and of those in it, sorted by name:
// every *.yaml and *.yml, in compat mode every file. Names that begin with a dot
// are left out, and so are the directories behind a Kubernetes ConfigMap's links.
// The path of one file is taken as well.
func Read(path string, o Options) ([]descriptors.Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, reading(path, err)
	}
	if !info.IsDir() {
		data, err := os.ReadFile(path) //nolint:gosec // the operator names the file
		if err != nil {
			return nil, reading(path, err)
		}
		return []descriptors.Source{{Name: path, Data: data}}, nil
	}
	var sources []descriptors.Source
	root := path + string(filepath.Separator) // follows a link to a directory
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir() || !o.Compat && !isRuleFile(name):
			return nil
		}
		data, err := os.ReadFile(name) //nolint:gosec // inside the operator's directory
		if err != nil {
			return err
		}
		sources = append(sources, descriptors.Source{Name: name, Data: data})
		return nil
	})
	if err != nil {
		return nil, reading(path, err)
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("reading rules: %s has no *.yaml or *.yml file", path)
	}
	return sources, nil
}

// reading says once which path could not be read.
func reading(path string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("reading rules: %s: %w", at.Path, at.Err)
	}
	return fmt.Errorf("reading rules: %s: %w", path, err)
}

func isRuleFile(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

// Compile compiles the files of a directory.
func Compile(sources []descriptors.Source, o Options) (*descriptors.Tree, descriptors.Findings) {
	return descriptors.Compile(sources, descriptors.Options{MergeDomains: o.MergeDomains})
}

// hash tells two sets of files apart, by names and contents.
func hash(sources []descriptors.Source) string {
	h := sha256.New()
	for _, s := range sources {
		for _, part := range [][]byte{[]byte(s.Name), s.Data} {
			h.Write(binary.AppendUvarint(nil, uint64(len(part))))
			h.Write(part)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
