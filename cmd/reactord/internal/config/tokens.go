package config

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

const (
	// maxDepth limits the nesting of mappings and lists. The parser's time is quadratic in it.
	maxDepth = 32
	// pieceKeys limits the keys of a mapping that are parsed together. The parser's time is quadratic in it.
	pieceKeys = 512
)

// errSyntax is an error found in the tokens of a file, before parsing.
type errSyntax struct {
	at   *token.Token
	text string
}

func (e *errSyntax) Error() string { return e.text }

// parseTokens parses a file, in pieces if a mapping has many keys: its entries beyond the first pieceKeys go to
// d.surplus, by the position of the mapping.
func (d *document) parseTokens(tokens token.Tokens) (*ast.File, error) {
	first, pieces, err := split(tokens)
	if err != nil {
		return nil, err
	}
	for _, p := range pieces {
		file, err := d.parseTokens(p.tokens)
		if err != nil {
			return nil, err
		}
		for _, doc := range file.Docs {
			m, ok := doc.Body.(*ast.MappingNode)
			if !ok {
				return nil, &errSyntax{p.tokens[0], "this does not belong to the mapping above"}
			}
			if d.surplus == nil {
				d.surplus = map[position][]*ast.MappingValueNode{}
			}
			d.surplus[p.mapping] = append(d.surplus[p.mapping], m.Values...)
		}
	}
	return parser.Parse(first, 0, parser.AllowDuplicateMapKey())
}

// piece is a run of entries of the mapping at a position.
type piece struct {
	mapping position
	tokens  token.Tokens
}

// block is an open mapping or list in block style.
type block struct {
	column int
	list   bool
	first  position // of the first key
	keys   int
}

// splitter follows the structure of a file in its tokens.
type splitter struct {
	blocks []block
	flow   int // open brackets and braces
}

// split moves the entries of mappings beyond their first pieceKeys into pieces.
func split(tokens token.Tokens) (first token.Tokens, pieces []piece, err error) {
	s := splitter{}
	kept := 0 // tokens up to here are in first, or in a piece
	for i := 0; i < len(tokens); i++ {
		begin := s.next(tokens, i)
		if len(s.blocks)+s.flow > maxDepth {
			return nil, nil, &errSyntax{tokens[i], fmt.Sprintf("more than %d levels of lists and mappings", maxDepth)}
		}
		if begin < 0 {
			continue
		}
		top := s.blocks[len(s.blocks)-1]
		first = append(first, tokens[kept:begin]...)
		cuts := entries(tokens, begin, top.column)
		for j, cut := range cuts[1:] {
			pieces = append(pieces, piece{top.first, tokens[cuts[j]:cut]})
		}
		kept = cuts[len(cuts)-1]
		i = kept - 1
	}
	if first == nil {
		return tokens, nil, nil
	}
	return append(first, tokens[kept:]...), pieces, nil
}

// next advances by one token. It returns the index of the token at which a mapping exceeds pieceKeys keys, or -1.
func (s *splitter) next(tokens token.Tokens, i int) int {
	t := tokens[i]
	switch t.Type {
	case token.SequenceStartType, token.MappingStartType:
		s.flow++
	case token.SequenceEndType, token.MappingEndType:
		s.flow = max(s.flow-1, 0)
	case token.DocumentHeaderType, token.DocumentEndType:
		s.blocks, s.flow = nil, 0
	case token.SequenceEntryType:
		if s.flow == 0 {
			s.enter(t.Position, true)
		}
	case token.MappingValueType:
		if s.flow != 0 || i == 0 {
			return -1
		}
		keys := s.enter(tokens[i-1].Position, false)
		if keys > pieceKeys && beginsLine(tokens, i-1) {
			return i - 1
		}
	default:
	}
	return -1
}

// enter counts an entry of a list or a key of a mapping. It returns the number of keys so far.
func (s *splitter) enter(at *token.Position, list bool) int {
	n := len(s.blocks)
	for n > 0 {
		top := s.blocks[n-1]
		if top.column < at.Column || top.column == at.Column && (list || !top.list) {
			break
		}
		n--
	}
	s.blocks = s.blocks[:n]
	if n == 0 || s.blocks[n-1].column < at.Column || s.blocks[n-1].list != list {
		s.blocks = append(s.blocks, block{at.Column, list, position{Line: at.Line, Column: at.Column}, 0})
	}
	top := &s.blocks[len(s.blocks)-1]
	top.keys++
	return top.keys
}

// entries returns cuts through a mapping in a column, from the key at begin on: an index for every pieceKeys entries,
// and last the end of the mapping.
func entries(tokens token.Tokens, begin, column int) []int {
	cuts, keys, flow := []int{begin}, 0, 0
	for i := begin; i < len(tokens); i++ {
		t := tokens[i]
		switch t.Type {
		case token.CommentType:
			continue
		case token.SequenceStartType, token.MappingStartType:
			flow++
			continue
		case token.SequenceEndType, token.MappingEndType:
			flow--
			continue
		case token.LiteralType, token.FoldedType:
			i++ // the text of the block
			continue
		case token.DocumentHeaderType, token.DocumentEndType:
			return append(cuts, i)
		default:
		}
		if flow > 0 || !beginsLine(tokens, i) {
			continue
		}
		if t.Position.Column < column {
			return append(cuts, i)
		}
		if t.Position.Column == column && t.Type != token.SequenceEntryType {
			if keys++; keys > pieceKeys {
				cuts, keys = append(cuts, i), 1
			}
		}
	}
	return append(cuts, len(tokens))
}

// beginsLine reports whether a token is the first of its line.
func beginsLine(tokens token.Tokens, i int) bool {
	return i == 0 || tokens[i-1].Position.Line < tokens[i].Position.Line
}

// syntaxAt returns the token and text of a parser's error.
func syntaxAt(err error) (*token.Token, string) {
	if e, ok := errors.AsType[*errSyntax](err); ok {
		return e.at, e.text
	}
	return yamltree.Syntax(err)
}
