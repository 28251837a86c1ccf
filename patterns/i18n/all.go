package i18n

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Missing returns the _ids of the texts that have no translation in a locale, at most limit of them
// where that is positive.
func (t *Texts) Missing(ctx context.Context, locale string, limit int64) ([]any, error) {
	locale, err := checkLocale(locale)
	if err != nil {
		return nil, err
	}
	without := bson.D{{"names." + locale, bson.D{{"$exists", false}}}}
	return t.ids(ctx, without, limit)
}

func (t *Texts) ids(ctx context.Context, filter bson.D, limit int64) ([]any, error) {
	opts := options.Find().SetProjection(bson.D{{"_id", 1}}).SetSort(bson.D{{"_id", 1}}).SetLimit(limit)
	found, err := t.coll.Find(ctx, filter, opts)
	if err != nil {
		return nil, fmt.Errorf("i18n: find texts: %w", err)
	}
	var docs []struct {
		ID any `bson:"_id"`
	}
	if err := found.All(ctx, &docs); err != nil {
		return nil, fmt.Errorf("i18n: find texts: %w", err)
	}
	out := make([]any, len(docs))
	for i := range docs {
		out[i] = docs[i].ID
	}
	return out, nil
}

// Fill gives every text that lacks a locale the translation that translate returns; where that is
// empty, the text is left as it is. It may be run again after an error, and goes on with what is
// missing. It returns how many texts it translated.
func (t *Texts) Fill(ctx context.Context, locale string,
	translate func(ctx context.Context, text *Text) (string, error),
) (n int, err error) {
	ids, err := t.Missing(ctx, locale, 0)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		text, err := t.Get(ctx, id)
		if errors.Is(err, ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return n, err
		}
		translation, err := translate(ctx, text)
		if err != nil {
			return n, fmt.Errorf("i18n: translate %v: %w", id, err)
		}
		if translation == "" {
			continue
		}
		if err := t.Set(ctx, id, locale, translation); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Drop takes a locale away from every text and returns from how many. It may be run again after an
// error.
func (t *Texts) Drop(ctx context.Context, locale string) (n int, err error) {
	locale, err = checkLocale(locale)
	if err != nil {
		return 0, err
	}
	ids, err := t.ids(ctx, bson.D{{"names." + locale, bson.D{{"$exists", true}}}}, 0)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := t.Unset(ctx, id, locale); err != nil && !errors.Is(err, ErrNotFound) {
			return n, err
		}
		n++
	}
	return n, nil
}

// Repair ends the changes that a process has left, and brings copies up to their texts that a
// process left when it added them; it returns how many texts those were of. Changes that are under
// way are not disturbed. It reads all documents that have copies.
func (t *Texts) Repair(ctx context.Context) (n int, err error) {
	found, err := t.coll.Find(ctx, bson.D{{"pending", true}})
	if err != nil {
		return 0, fmt.Errorf("i18n: find what is pending: %w", err)
	}
	var texts []Text
	if err := found.All(ctx, &texts); err != nil {
		return 0, fmt.Errorf("i18n: find what is pending: %w", err)
	}
	for i := range texts {
		if err := t.spread(ctx, &texts[i]); err != nil {
			return n, err
		}
		t.env.Logger.Info("a change of a text was ended", "id", texts[i].ID, "rev", texts[i].Rev)
		n++
	}
	for _, c := range t.copies {
		wrong, err := t.wrong(ctx, c)
		if err != nil {
			return n, err
		}
		done := map[string]bool{}
		for _, w := range wrong {
			if len(w.Text) == 0 || w.Copy.Rev >= w.Text[0].Rev || done[fmt.Sprint(w.Copy.ID)] {
				continue
			}
			if err := t.spread(ctx, &w.Text[0]); err != nil {
				return n, err
			}
			t.env.Logger.Info("copies of a text were brought up", "id", w.Copy.ID, "rev", w.Text[0].Rev)
			done[fmt.Sprint(w.Copy.ID)] = true
			n++
		}
	}
	return n, nil
}

// Rules of Check.
const (
	RuleSame    = "each copy says what its text says"
	RuleExists  = "each copy is one of a text"
	RulePending = "every change has come to its end"
)

// Check lists copies that do not say what their texts say, and changes that have not come to their
// end. It reads all documents; where changes are under way, it lists them too.
func (t *Texts) Check(ctx context.Context) ([]patterns.Violation, error) {
	ids, err := t.ids(ctx, bson.D{{"pending", true}}, 0)
	if err != nil {
		return nil, err
	}
	var out []patterns.Violation
	for _, id := range ids {
		out = append(out, patterns.Violation{
			Rule: RulePending, Collection: t.coll.Name(), ID: id,
			Detail: "a change is pending; Repair ends it",
		})
	}
	for _, c := range t.copies {
		wrong, err := t.wrong(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, w := range wrong {
			v := patterns.Violation{
				Rule: RuleExists, Collection: c.Collection, ID: w.ID,
				Detail: fmt.Sprintf("there is no text %v", w.Copy.ID),
			}
			if len(w.Text) > 0 {
				v.Rule, v.Detail = RuleSame,
					fmt.Sprintf("text %v is %v, the copy %v", w.Copy.ID, w.Text[0].Names, w.Copy.Names)
			}
			out = append(out, v)
		}
	}
	return out, nil
}

// wrongCopy is a copy in the document ID that does not say what its text says, if there is one.
type wrongCopy struct {
	ID   any `bson:"_id"`
	Copy Text
	Text []Text
}

// wrong compares the copies of a collection with their texts.
func (t *Texts) wrong(ctx context.Context, c Copy) (out []wrongCopy, err error) {
	copyNames, textNames := "$copy.names", bson.D{{"$arrayElemAt", bson.A{"$text.names", 0}}}
	found, err := t.in(c).Aggregate(ctx, bson.A{
		bson.D{{"$match", bson.D{{c.Array + "._id", bson.D{{"$exists", true}}}}}},
		bson.D{{"$project", bson.D{{"copy", "$" + c.Array}}}},
		bson.D{{"$unwind", "$copy"}},
		bson.D{{"$lookup", bson.D{
			{"from", t.coll.Name()}, {"localField", "copy._id"}, {"foreignField", "_id"}, {"as", "text"},
		}}},
		bson.D{{"$match", bson.D{{"$expr", bson.D{{"$not", bson.A{sameFields(copyNames, textNames)}}}}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("i18n: check %s: %w", c.Collection, err)
	}
	if err := found.All(ctx, &out); err != nil {
		return nil, fmt.Errorf("i18n: check %s: %w", c.Collection, err)
	}
	return out, nil
}

// sameFields is the expression that two documents have the same fields in any order.
func sameFields(a, b any) bson.D {
	return bson.D{{"$setEquals", bson.A{
		bson.D{{"$ifNull", bson.A{bson.D{{"$objectToArray", a}}, bson.A{}}}},
		bson.D{{"$ifNull", bson.A{bson.D{{"$objectToArray", b}}, bson.A{nil}}}},
	}}}
}
