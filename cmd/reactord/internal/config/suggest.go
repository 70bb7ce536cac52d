package config

import (
	"slices"
	"strconv"
	"strings"
)

// nearest is the candidate that the word is most similar to, or "" if there is none with at most one wrong, missing,
// extra or swapped letter for every three. Case, "-" and "_" are ignored.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", (len(word)+2)/3+1
	for _, c := range candidates {
		if d := distance(fold(word), fold(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// didYouMean proposes the nearest candidate as the end of a sentence. If there is none, it lists all candidates.
func didYouMean(word string, candidates []string) string {
	if c := nearest(word, candidates); c != "" {
		return "did you mean " + strconv.Quote(c) + "?"
	}
	return "write one of " + list(candidates)
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

func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(s))
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour, to turn one word into the
// other (optimal string alignment).
func distance(a, b string) int {
	var before, row []int
	next := make([]int, len(b)+1)
	for j := range next {
		next[j] = j
	}
	for i := range len(a) {
		before, row, next = row, next, make([]int, len(b)+1)
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

// quote is s in quotes for a message, in one line and shortened.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}

// clip is quote without the quotes.
func clip(s string) string {
	s = quote(s)
	return s[1 : len(s)-1]
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
