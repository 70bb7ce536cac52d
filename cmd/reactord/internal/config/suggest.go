package config

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// words are the words allowed in some place, in the order in which messages list them.
type words struct {
	all    []string
	folded []string
	text   string
}

// Limits of the search for a similar word, so that thousands of wrong words do not take long.
const (
	mostListed   = 40
	mostCompared = 400
	longestWord  = 100 // longer words are neither proposed nor corrected
)

func newWords[W ~string](allowed []W) *words {
	all := make([]string, len(allowed))
	for i, word := range allowed {
		all[i] = string(word)
	}
	w := &words{all: all, text: list(all)}
	if len(all) > mostListed {
		w.text = list(append(slices.Clone(all[:mostListed]), "…"))
	}
	for _, word := range all {
		w.folded = append(w.folded, fold(word))
	}
	return w
}

// String lists the words for a message.
func (w *words) String() string { return w.text }

// has reports whether a word is allowed.
func (w *words) has(word string) bool { return slices.Contains(w.all, word) }

// nearest returns the most similar word with at most one wrong, missing, extra or swapped letter per three letters,
// or "". Case, "-" and "_" are ignored.
func (w *words) nearest(word string) string {
	if len(word) > longestWord {
		return ""
	}
	word = fold(word)
	if len(w.all) > mostCompared {
		if i := slices.Index(w.folded, word); i >= 0 {
			return w.all[i]
		}
		return ""
	}
	best, bestDistance := "", (len(word)+2)/3+1
	for i, candidate := range w.folded {
		difference := len(candidate) - len(word)
		if len(candidate) > longestWord || max(difference, -difference) >= bestDistance {
			continue
		}
		if d := distance(word, candidate); d < bestDistance {
			best, bestDistance = w.all[i], d
		}
	}
	return best
}

// didYouMean proposes the nearest word as the end of a sentence, or lists all words.
func (w *words) didYouMean(word string) string { return w.propose(w.nearest(word)) }

// propose proposes a word as the end of a sentence, or lists all words if it is "".
func (w *words) propose(nearest string) string {
	if nearest != "" {
		return "did you mean " + strconv.Quote(nearest) + "?"
	}
	return "write one of " + w.text
}

func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	if last := len(quoted) - 1; last > 0 {
		return strings.Join(quoted[:last], ", ") + " and " + quoted[last]
	}
	return strings.Join(quoted, "")
}

var separators = strings.NewReplacer("-", "", "_", "", " ", "")

func fold(s string) string {
	return strings.ToLower(separators.Replace(s))
}

// distance counts the letters to insert, delete, replace or swap with their neighbour that turn one word into the
// other (optimal string alignment). Each word has at most longestWord bytes.
func distance(a, b string) int {
	var rows [3][longestWord + 1]int
	before, row, next := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		next[j] = j
	}
	for i := range len(a) {
		before, row, next = row, next, before
		next[0] = i + 1
		for j := range len(b) {
			replaced := row[j]
			if a[i] != b[j] {
				replaced++
			}
			next[j+1] = min(replaced, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
	}
	return next[len(b)]
}

// quote quotes s for a message, as a single line and shortened.
func quote(s string) string {
	const most = 60
	if len(s) > most && utf8.RuneCountInString(s) > most {
		s = string([]rune(s[:min(len(s), most*utf8.UTFMax)])[:most]) + "…"
	}
	return strconv.Quote(s)
}

// clip escapes and shortens s like quote, without the quotes.
func clip(s string) string {
	s = quote(s)
	return s[1 : len(s)-1]
}
