package main

import (
	"regexp"
	"strings"
)

// pattern is a construction that a reader has to read twice.
type pattern struct {
	name   string
	bad    *regexp.Regexp
	except *regexp.Regexp // matches occurrences that do not count as findings; may be nil
	better string
}

// patterns lists the constructions in the order of the rules for plain words. Each pattern is
// narrow: nearly every place that it finds is worth rewriting. Many bad sentences match no pattern.
var patterns = []pattern{
	{
		name:   "what-subject",
		bad:    regexp.MustCompile(`(?:^|[.!?:;] )(?:What|Who|Whoever) [^.!?]+[.!]`),
		better: "begin with a noun: \"the index\", \"the caller\"; not with a clause",
	},
	{
		name:   "of-what",
		bad:    regexp.MustCompile(`(?i)\b(?:of|for|with|by|to|from|in|on|at|than|as|after|before|beside|besides|without|into|over|under|upon|until) (?:what|whoever)\b`),
		except: regexp.MustCompile(`(?i)\bin what (?:order|form)\b|\bto what extent\b`),
		better: "name the thing: \"from the request\", not \"from what was asked\"",
	},
	{
		name:   "is-what",
		bad:    regexp.MustCompile(`(?i)\b(?:is|are|was|were|be) (?:what|who)\b`),
		better: "name the thing, or use a verb: \"holds the state of a comparison\", not \"is what a comparison works with\"",
	},
	{
		name:   "what-there-is",
		bad:    regexp.MustCompile(`(?i)\b(?:what there (?:is|are)|all (?:that )?there (?:is|are)|what (?:follows|else) (?:from|is)|what has to be|what is to be)\b`),
		better: "name the thing",
	},
	{
		name:   "those-who",
		bad:    regexp.MustCompile(`(?i)\bthose (?:who|whom|whose)\b`),
		better: "name them: \"the workers\", \"callers that wait\"",
	},
	{
		name:   "field-word",
		bad:    regexp.MustCompile(`(?i)\blogs? of changes\b|\bstreams? of changes\b|\bconflicts? of writes\b|\btokens? of resumption\b|\bplans? of queries\b|\bform of (?:a|the) collection\b`),
		better: "the field's word: oplog, change stream, write conflict, resume token, query plan, catalog version",
	},
	{
		name:   "is-none",
		bad:    regexp.MustCompile(`(?i)\b(?:is|are|was|were|be) none\b`),
		except: regexp.MustCompile(`(?i)\bnone of\b`),
		better: "\"there is no index\", \"does not exist\", \"is not an index\"",
	},
	{
		name:   "is-no",
		bad:    regexp.MustCompile(`(?i)(?:\b\w+ )?\b(?:is|are|was|were) no\b(?: \w+)?`),
		except: regexp.MustCompile(`(?i)\bthere (?:is|are|was|were) no\b|\bno (?:longer|more|less|fewer|later|earlier|larger|smaller|slower|faster|greater|better|worse|shorter|newer|older)\b`),
		better: "\"is not a\", \"are not\"",
	},
	{
		name:   "ellipsis",
		bad:    regexp.MustCompile(`(?i)\band (?:an?|the|its?|all|no) (?:\w+ ){0,2}(?:not|none|too)[.;]|, (?:the|an?) (?:other|others|rest|second|last) (?:not|none)\b`),
		better: "repeat the verb after \"and\"",
	},
	{
		name:   "that-of",
		bad:    regexp.MustCompile(`(?i)\b(?:that|those) of\b`),
		better: "repeat the noun: \"the keys of an index\", not \"those of an index\"",
	},
	{
		name:   "its-like",
		bad:    regexp.MustCompile(`(?i)\b(?:its|their) likes?\b|\band the like of\b|\bthe likes? of\b`),
		better: "name the class",
	},
}

const (
	manyCommas   = "many-commas"
	longSentence = "long-sentence"

	// maxCommas is the greatest number of commas of a sentence, without the commas of lists.
	maxCommas = 3
	// maxWords is the greatest number of words of a sentence.
	maxWords = 45
	// itemWords is the greatest number of words of a list's item. Longer parts between commas are
	// clauses.
	itemWords = 4
)

// hit is an occurrence of a pattern in a text.
type hit struct {
	at           int
	name, better string
	text         string
}

// match finds the patterns in the text of a paragraph.
func match(text string) (hits []hit) {
	for _, p := range patterns {
		for _, at := range p.bad.FindAllStringIndex(text, -1) {
			// The end of the preceding sentence is not part of an occurrence.
			found := text[at[0]:at[1]]
			at[0] += len(found) - len(strings.TrimLeft(found, ".!?:; "))
			if p.except != nil && p.except.MatchString(excerpt(text, at)) {
				continue
			}
			hits = append(hits, hit{at: at[0], name: p.name, better: p.better, text: around(text, at)})
		}
	}
	return append(hits, matchSentences(text)...)
}

// excerpt returns an occurrence and the word that follows it.
func excerpt(text string, at []int) string {
	rest := text[at[1]:]
	if len(rest) < 2 {
		return text[at[0]:at[1]]
	}
	if end := strings.IndexByte(rest[1:], ' '); end >= 0 {
		rest = rest[:end+1]
	}
	return text[at[0]:at[1]] + rest
}

// around returns an occurrence with a few words before and after it.
func around(text string, at []int) string {
	const beside = 40
	first, last := max(at[0]-beside, 0), min(at[1]+beside, len(text))
	for first > 0 && text[first-1] != ' ' {
		first--
	}
	for last < len(text) && text[last] != ' ' {
		last++
	}
	return text[first:last]
}

var (
	sentenceEnd = regexp.MustCompile(`[.!?;:](?:["')\]]*)(?: |$)`)
	inside      = regexp.MustCompile(`\([^()]*\)|"[^"]*"|\x60[^\x60]*\x60`)
)

// matchSentences finds sentences with too many words or commas. Text in parentheses or quotation
// marks is not counted.
func matchSentences(text string) (hits []hit) {
	blank := inside.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("x", len(s)) })
	start := 0
	for start < len(blank) {
		end := len(blank)
		if at := sentenceEnd.FindStringIndex(blank[start:]); at != nil {
			end = start + at[1]
		}
		sentence := blank[start:end]
		found := hit{at: start, text: strings.TrimSpace(text[start:end])}
		if words(sentence) > maxWords {
			found.name, found.better = longSentence, "one idea a sentence: at most 45 words"
			hits = append(hits, found)
		} else if commas(sentence) > maxCommas {
			found.name, found.better = manyCommas, "one idea a sentence: at most three commas outside lists"
			hits = append(hits, found)
		}
		start = end
	}
	return hits
}

// words counts the words of a sentence, without the words of short items of lists.
func words(sentence string) (n int) {
	for _, part := range strings.Split(sentence, ",") {
		if w := len(strings.Fields(part)); w > itemWords {
			n += w
		}
	}
	return n
}

// commas counts the commas of a sentence, except those before a short item of a list.
func commas(sentence string) (n int) {
	parts := strings.Split(sentence, ",")
	for i := 1; i < len(parts); i++ {
		if len(strings.Fields(parts[i])) > itemWords {
			n++
		}
	}
	return n
}
