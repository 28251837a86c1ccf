package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The texts consist of words of an artificial language. The frequencies of its words are as in a
// natural language.
const (
	textCount   = 100_000
	textIndexed = 20_000 // the number of texts in the collection whose index is rebuilt again and again
	textWords   = 100
	textBest    = 20
)

// vocabularySize is the number of different words. The variables below are the ranks of the words
// for which searches look: a word's rank is its position in the order of frequency. About every
// second text has one of the frequent words, and one text in ten one of the usual words.
const vocabularySize = 50_000

var (
	frequentWords = [2]uint64{20, 35}
	usualWords    = [2]uint64{100, 300}
)

// textWord returns the n-th most frequent word.
func textWord(n uint64) string {
	var b strings.Builder
	for n += 20; n > 0; n /= 20 {
		b.WriteByte("bcdfghjklmnpqrstvwxz"[n%20])
		b.WriteByte("aou"[n%3])
	}
	return b.String()
}

// texts generates the texts on the first call.
var texts = sync.OnceValue(func() []string {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 8, vocabularySize)
	out := make([]string, textCount)
	for i := range out {
		words := make([]string, textWords)
		for j := range words {
			words[j] = textWord(zipf.Uint64())
		}
		out[i] = strings.Join(words, " ")
	}
	return out
})

// textsDatabase is a separate database, and in PostgreSQL a separate schema. Searches do not change
// its data, so the data is loaded once and stays.
const textsDatabase = "sheaf_texts"

func textModel() mongo.IndexModel {
	return mongo.IndexModel{Keys: bson.D{{"text", "text"}}}
}

func fillTexts(ctx context.Context, coll *mongo.Collection, n int) error {
	return fill(ctx, coll, n, func(i int) bson.D { return bson.D{{"_id", i}, {"text", texts()[i]}} })
}

func textSearch(words [2]uint64) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		coll := db.Client().Database(textsDatabase).Collection("texts")
		indexes, err := coll.Indexes().ListSpecifications(ctx)
		if err != nil {
			return nil, err
		}
		if len(indexes) < 2 {
			if err := coll.Drop(ctx); err != nil {
				return nil, err
			}
			if err := fillTexts(ctx, coll, textCount); err != nil {
				return nil, err
			}
			if _, err := coll.Indexes().CreateOne(ctx, textModel()); err != nil {
				return nil, err
			}
		}
		score := bson.D{{"score", bson.D{{"$meta", "textScore"}}}}
		opts := options.Find().SetProjection(score).SetSort(score).SetLimit(textBest)
		filter := bson.D{{"$text", field("$search", textWord(words[0])+" "+textWord(words[1]))}}
		return repeat(func(ctx context.Context, _ *worker) error {
			cursor, err := coll.Find(ctx, filter, opts)
			if err != nil {
				return err
			}
			var found []bson.Raw
			if err := cursor.All(ctx, &found); err != nil {
				return err
			}
			if len(found) != textBest {
				return fmt.Errorf("%d texts, want %d", len(found), textBest)
			}
			return nil
		}), nil
	}
}

func textBuild(ctx context.Context, db *mongo.Database) (*routine, error) {
	coll := db.Collection("texts")
	return &routine{units: textIndexed, do: func(ctx context.Context, _ *worker) error {
		name, err := coll.Indexes().CreateOne(ctx, textModel())
		if err != nil {
			return err
		}
		return coll.Indexes().DropOne(ctx, name)
	}}, fillTexts(ctx, coll, textIndexed)
}

// pgTexts creates a table with the texts and their words.
func pgTexts(ctx context.Context, pool *pgxpool.Pool, schema string, n int) error {
	_, err := pool.Exec(ctx, fmt.Sprintf("create schema if not exists %s; create table %s.texts (id int primary key, text text)", schema, schema))
	if err != nil {
		return err
	}
	rows := pgx.CopyFromSlice(n, func(i int) ([]any, error) { return []any{i, texts()[i]}, nil })
	_, err = pool.CopyFrom(ctx, pgx.Identifier{schema, "texts"}, []string{"id", "text"}, rows)
	return err
}

func pgTextSearch(words [2]uint64) postgresPattern {
	return func(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
		var there bool
		if err := pool.QueryRow(ctx, "select to_regclass($1) is not null",
			textsDatabase+".texts_words").Scan(&there); err != nil {
			return nil, err
		}
		if !there {
			if err := pgTexts(ctx, pool, textsDatabase, textCount); err != nil {
				return nil, err
			}
			_, err := pool.Exec(ctx, fmt.Sprintf(`alter table %[1]s.texts add column words tsvector generated always as (to_tsvector('english', text)) stored;
				create index texts_words on %[1]s.texts using gin (words)`, textsDatabase))
			if err != nil {
				return nil, err
			}
		}
		query := fmt.Sprintf(`select id, text, ts_rank(words, q) as score from %s.texts, to_tsquery('english', '%s | %s') q
			where words @@ q order by score desc limit %d`, textsDatabase, textWord(words[0]), textWord(words[1]), textBest)
		return repeat(func(ctx context.Context, _ *worker) error { return pgExpect(ctx, pool, textBest, query) }), nil
	}
}

func pgTextBuild(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	const build = "create index texts_words on texts using gin (to_tsvector('english', text)); drop index texts_words"
	return &routine{units: textIndexed, do: func(ctx context.Context, _ *worker) error {
		_, err := pool.Exec(ctx, build)
		return err
	}}, pgTexts(ctx, pool, "public", textIndexed)
}
