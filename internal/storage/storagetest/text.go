package storagetest

import (
	"math/rand/v2"
	"strings"
)

// Texts returns texts of at least size bytes for benchmarks. It returns the same texts each time.
// Like prose they consist of some thousand words of unequal frequency, so that fast compression
// halves them.
func Texts(count, size int) []string {
	const alphabet = "eeeetttaaooiinnsshhrrdlcumwfgypbvk"
	rng := rand.New(rand.NewPCG(1, 1))
	words := make([]string, 3000)
	for i := range words {
		word := make([]byte, 2+rng.IntN(9))
		for j := range word {
			word[j] = alphabet[rng.IntN(len(alphabet))]
		}
		words[i] = string(word)
	}
	zipf := rand.NewZipf(rng, 1.1, 4, uint64(len(words)-1))
	texts := make([]string, count)
	for i := range texts {
		var b strings.Builder
		for b.Len() < size {
			b.WriteString(words[zipf.Uint64()])
			b.WriteByte(' ')
		}
		texts[i] = b.String()
	}
	return texts
}
