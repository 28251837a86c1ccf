package comments

import (
	"context"
	"fmt"
	"reflect"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleParent = "what a comment replies to is on the same target"
	RulePath   = "a path leads through what a comment replies to"
	RuleTime   = "an ID, by which comments are in order, begins with the time of its comment, or with a later one"
	RuleOnce   = "a comment is there once"
	RuleCount  = "a document's count is the number of its comments"
	RuleFull   = "no document has more comments than are allowed"
	RulePages  = "pages are numbered from 1, and full but for the last one"
)

// Check reads all comments and lists the violations of the rules. It keeps the comments of one
// target at a time in memory.
func (c *Comments) Check(ctx context.Context) ([]patterns.Violation, error) {
	var out []patterns.Violation
	violate := func(rule string, id any, detail string) {
		out = append(out, patterns.Violation{Rule: rule, Collection: c.coll.Name(), ID: id, Detail: detail})
	}
	err := c.store.check(ctx, func(on Target, all []Comment) {
		byID := make(map[ID]*Comment, len(all))
		for i, one := range all {
			if byID[one.ID] != nil {
				violate(RuleOnce, one.ID, fmt.Sprintf("on %v", on))
			}
			byID[one.ID] = &all[i]
		}
		for _, one := range all {
			if at, ok := one.ID.time(); !ok || one.Posted.UnixMilli() > at {
				violate(RuleTime, one.ID, fmt.Sprintf("posted on %v", one.Posted))
			}
			want := string(one.ID)
			if one.Parent != "" {
				parent := byID[one.Parent]
				if parent == nil {
					violate(RuleParent, one.ID, fmt.Sprintf("%s is not on %v", one.Parent, on))
					continue
				}
				want = parent.Path + "/" + want
			}
			if one.Path != want {
				violate(RulePath, one.ID, fmt.Sprintf("%s, and not %s", one.Path, want))
			}
		}
	}, violate)
	if err != nil {
		return nil, fmt.Errorf("comments: check: %w", err)
	}
	return out, nil
}

func sameTarget(a, b Target) bool { return a.Kind == b.Kind && reflect.DeepEqual(a.ID, b.ID) }
