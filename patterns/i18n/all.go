package i18n

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Missing returns the _ids of the texts without a translation in a locale. If limit is positive, it
// returns at most limit of them.
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

// Fill translates every text that lacks a locale with the function translate. If translate returns
// an empty text, Fill leaves the text unchanged. After an error Fill may be called again; it
// continues with the missing texts. It returns the number of texts that it has translated.
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
			continue // the text was removed meanwhile
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

// Drop removes a locale from every text, and returns the number of texts that had the locale. It
// may be called again after an error.
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

// Repair completes changes whose processes died, and updates copies that an interrupted Attach has
// left outdated. It returns the number of texts whose copies it has updated. It does not disturb
// changes that are under way. It reads all documents with copies.
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

// These are the rules whose violations Check lists.
const (
	RuleSame    = "each copy says what its text says"
	RuleExists  = "each copy is one of a text"
	RulePending = "every change has come to its end"
)

// Check lists copies that differ from their texts, and changes that are not complete. It reads all
// documents. It also lists changes that are under way.
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

// wrongCopy is a copy, in the document with the _id ID, that differs from its text. Text is empty
// if the text does not exist.
type wrongCopy struct {
	ID   any `bson:"_id"`
	Copy Text
	Text []Text
}

// wrong returns the copies of a collection that differ from their texts.
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

// sameFields returns the expression for whether two documents have the same fields, in any order.
func sameFields(a, b any) bson.D {
	return bson.D{{"$setEquals", bson.A{
		bson.D{{"$ifNull", bson.A{bson.D{{"$objectToArray", a}}, bson.A{}}}},
		bson.D{{"$ifNull", bson.A{bson.D{{"$objectToArray", b}}, bson.A{nil}}}},
	}}}
}
