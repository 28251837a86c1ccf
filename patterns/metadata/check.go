package metadata

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleShape = "attributes have the shape of the design"
	RuleOnce  = "a document has a key once"
	RuleLimit = "no document has more attributes than are allowed"
)

// Check reads the attributes of all documents and lists the violations of the rules.
func (s *Store) Check(ctx context.Context) ([]patterns.Violation, error) {
	cur, err := s.coll.Find(ctx, bson.D{{s.cfg.Field, bson.D{{"$exists", true}}}},
		options.Find().SetProjection(bson.D{{s.cfg.Field, 1}}))
	if err != nil {
		return nil, fmt.Errorf("metadata: check: %w", err)
	}
	defer func() { _ = cur.Close(ctx) }()
	var out []patterns.Violation
	for cur.Next(ctx) {
		for _, v := range s.checkDocument(cur.Current) {
			v.Collection = s.coll.Name()
			if err := cur.Current.Lookup("_id").Unmarshal(&v.ID); err != nil {
				return nil, fmt.Errorf("metadata: check: %w", err)
			}
			out = append(out, v)
		}
	}
	if err := cur.Err(); err != nil {
		return nil, fmt.Errorf("metadata: check: %w", err)
	}
	return out, nil
}

func (s *Store) checkDocument(doc bson.Raw) (out []patterns.Violation) {
	attributes, err := s.design.attributes(doc)
	if err != nil {
		return []patterns.Violation{{Rule: RuleShape, Detail: err.Error()}}
	}
	seen := map[string]bool{}
	for _, a := range attributes {
		if err := s.design.checkKey(a.Key); err != nil {
			out = append(out, patterns.Violation{Rule: RuleShape, Detail: err.Error()})
		}
		if err := s.design.checkValue(a.Value); err != nil {
			out = append(out, patterns.Violation{Rule: RuleShape, Detail: err.Error()})
		}
		if seen[a.Key] {
			out = append(out, patterns.Violation{
				Rule:   RuleOnce,
				Detail: fmt.Sprintf("the key %q is there again", a.Key),
			})
		}
		seen[a.Key] = true
	}
	if len(attributes) > s.cfg.Limit {
		out = append(out, patterns.Violation{
			Rule:   RuleLimit,
			Detail: fmt.Sprintf("%d attributes of %d", len(attributes), s.cfg.Limit),
		})
	}
	return out
}
