package pipeline

import "github.com/sheafdb/sheaf/internal/pipeline/parsing"

// rewriteRule is an optimiser rule. apply returns rewritten steps, or the same slice if the rule
// does not apply.
type rewriteRule struct {
	is    parsing.Rule
	apply func(steps []step) []step
}

func rules() []rewriteRule {
	return []rewriteRule{
		{parsing.RuleNoop, removeNoops},
		{parsing.RuleMoveMatch, moveMatches},
		{parsing.RuleSortFirst, moveSorts},
		{parsing.RuleLimitFirst, moveLimits},
		{parsing.RuleMerge, mergeAdjacent},
		{parsing.RuleConstant, markConstants},
		{parsing.RuleTopK, limitSorts},
		{parsing.RuleFuse, fuseLookups},
		{parsing.RuleAbsorb, absorbProjects},
		{parsing.RuleNarrow, narrowStages},
	}
}

// optimize applies all rules that are not disabled. It returns a new slice rather than modify steps
// or stages.
func optimize(steps []step, disabled parsing.Rule) []step {
	for _, rule := range rules() {
		if disabled&rule.is == 0 {
			steps = rule.apply(steps)
		}
		// RuleMoveMatch comes first: otherwise a $match may stand between the $unionWith and the
		// stage that reads the scores.
		if rule.is == parsing.RuleMoveMatch {
			steps = uniteScores(steps)
		}
	}
	return steps
}
