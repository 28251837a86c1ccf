package pipeline

import "github.com/sheafdb/sheaf/internal/pipeline/parsing"

// rewriteRule rewrites steps; it returns the ones that it was given where it does not apply.
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

// optimize applies the rules that are not disabled. Steps and stages are not changed but replaced.
func optimize(steps []step, disabled parsing.Rule) []step {
	for _, rule := range rules() {
		if disabled&rule.is == 0 {
			steps = rule.apply(steps)
		}
		if rule.is == parsing.RuleMoveMatch { // behind it, because a $match may stand between a $unionWith and who reads the scores
			steps = uniteScores(steps)
		}
	}
	return steps
}
