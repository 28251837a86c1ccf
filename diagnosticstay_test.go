package sheaf_test

import (
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// mayStay holds the fields of every reply that may have the same value after the load, each with
// the reason.
var mayStay = map[string]string{
	"ok": "a part of the answer's form", "$clusterTime/signature/keyId": "there are no keys: nobody is authenticated",
}

// statusMayStay holds the fields of serverStatus that may have the same value after the load.
var statusMayStay = map[string]string{
	"asserts/msg":       "counts panics: no command makes one",
	"asserts/rollovers": "the counters of errors begin anew after 2^30 of them",
	"asserts/tripwire":  "counts broken rules of MongoDB's own code that do not end it: there are none here",
	"asserts/warning":   "MongoDB's manual: always 0 since 4.0",

	"extra_info/input_blocks":                                           "what was just written is read from the page cache",
	"extra_info/page_faults":                                            "the program is in memory, and so is what it reads",
	"extra_info/involuntary_context_switches":                           "an idle machine takes no processor away",
	"extra_info/maximum_resident_set_kb":                                "other tests of this process may have taken more before",
	"globalLock/currentQueue/readers":                                   "reads wait for no lock",
	"logicalSessionRecordCache/lastSessionsCollectionJobDurationMillis": "the job looks at a few sessions in less than a millisecond",
	"mem/bits":     "of the processor",
	"mem/resident": "in MiB: what other tests have freed may be enough for the load",
	"mem/virtual":  "in MiB: what other tests have freed may be enough for the load",

	"metrics/aggStageCounters/*":       "command.TestEachOperatorIsCounted uses each",
	"metrics/operatorCounters/*/*":     "command.TestEachOperatorIsCounted uses each",
	"metrics/record/moves":             "a document keeps its place, which is its key, as in MongoDB",
	"metrics/repl/apply/**":            "only a secondary applies the oplog",
	"metrics/repl/buffer/*":            "only a secondary has entries that it has fetched and not applied",
	"metrics/repl/network/**":          "only a secondary fetches the oplog",
	"metrics/ttl/invalidTTLIndexSkips": "createIndexes refuses such an index: one is left only by a damaged catalog",
	"opcountersRepl/*":                 "only a secondary applies the oplog",
	"oplog/earliestOptime":             "the oplog keeps at least 990 MB",
	"pid":                              "of the process",
	"locks/*/timeAcquiringMicros/w":    "the write waits until the end of this test: command.TestStatusOfLocks has it",

	"repl/lastWrite/*/t":         "the only member is elected once: there is one term",
	"repl/rbid":                  "the only member never rolls back",
	"repl/setVersion":            "the set of one member is never reconfigured",
	"requestMemory/ended":        "without Options.ProcessMemory nothing is ended: TestOperationsEndForWantOfMemory has it",
	"requestMemory/endedCursors": "as requestMemory/ended: command.TestIdleCursorsEndForWaiters has it",
	"requestMemory/limitBytes":   "a setting: Options.RequestMemory",
	"requestMemory/waiting":      "what waits has a share within microseconds here; memory.TestAdmitWaitsForItsTurn has it",
	"storage/cache/maximumBytes": "a setting: Options.MemoryBudget",
	"transactions/*Prepared*":    "two-phase commits need several shards",
	"wiredTiger/cache/maximum*":  "a setting: Options.MemoryBudget",
}

// memberMayStay holds the fields of replSetGetStatus that may have the same value after the load,
// because the set has one member.
var memberMayStay = map[string]string{
	"heartbeatIntervalMillis": "a setting: there is nobody to ask", "*Count": "there is one member",
	"myState":      "the only member is primary",
	"syncSourceId": "there is nobody to sync from", "term": "the only member is elected once",
	"optimes/*/t":   "the only member is elected once",
	"members/*/_id": "there is one member", "members/*/config*": "the set is never reconfigured",
	"members/*/election*": "at the start",
	"members/*/health":    "the member that answers is up", "members/*/state": "the only member is primary",
	"members/*/syncSourceId": "there is nobody to sync from", "members/*/*/t": "the only member is elected once",
}

// machineMayStay holds the fields about the machine that may have the same value after the load.
var machineMayStay = map[string]string{
	"cpu/num_cpus": "of the machine", "cpu/btime": "when the machine started",
	"cpu/nice_ms": "nothing needs to run with less priority",
	"cpu/guest*":  "no virtual machine runs in this one", "cpu/*irq_ms": "in ticks of 10 ms",
	"cpu/iowait_ms": "a busy processor does not wait",
	"cpu/idle_ms":   "a busy processor is not idle", "cpu/steal_ms": "the machine may have its processors for itself",
	"cpu/system_ms": "in ticks of 10 ms", "cpu/procs_*": "a gauge of the moment",
	"memory/MemTotal_kb": "of the machine",
	"memory/Swap*":       "the machine may not swap", "memory/Dirty_kb": "a gauge of the moment",
	"memory/Buffers_kb": "a gauge of the moment",
	"disks/**":          "what the test writes may be on no disk", "vmstat/balloon*": "the machine may not be virtual",
	"vmstat/numa_pages_migrated": "the machine may have one node", "vmstat/pswp*": "the machine may not swap",
	"memory/*ctive*":  "the kernel may leave pages where they are for minutes",
	"vmstat/nr_mlock": "nothing needs to lock memory", "vmstat/pgmajfault": "nothing needs to be read for a page",
}

// explainMayStay holds the fields in the explain of a find by an index that may have the same value
// after the load.
var explainMayStay = map[string]string{
	"command/filter/**":                                      "the command that is explained",
	"queryPlanner/optimizationTimeMillis":                    "planning one index takes less than one",
	"queryPlanner/parsedQuery/**":                            "the query is the same",
	"queryPlanner/winningPlan/filter/**":                     "the query is the same",
	"queryPlanner/winningPlan/inputStage/indexVersion":       "of the index",
	"queryPlanner/winningPlan/inputStage/keyPattern/*":       "of the index",
	"executionStats/executionStages/alreadyHasObj":           "no stage below a fetch has documents",
	"executionStats/executionStages/filter/**":               "the query is the same",
	"executionStats/executionStages/isEOF":                   "every plan is run to its end",
	"executionStats/executionStages/needYield":               "explain runs the plan in one go, on one snapshot",
	"executionStats/executionStages/*State":                  "explain runs the plan in one go, on one snapshot",
	"executionStats/executionStages/inputStage/indexVersion": "of the index",
	"executionStats/executionStages/inputStage/isEOF":        "every plan is run to its end",
	"executionStats/executionStages/inputStage/keyPattern/*": "of the index",
	"executionStats/executionStages/inputStage/needYield":    "explain runs the plan in one go, on one snapshot",
	"executionStats/executionStages/inputStage/seeks":        "one range is one seek",
	"executionStats/executionStages/inputStage/*State":       "explain runs the plan in one go, on one snapshot",

	"serverInfo/port": "the port that is served",

	"serverParameters/internalQueryPlannerIgnoreIndexWithCollationForRegex": "is 1: such an index is never used for a regex",
}

// collStatsMayStay holds the fields in the collStats of an ordinary collection that may have the
// same value after the load.
var collStatsMayStay = map[string]string{
	"indexSizes/_id_": "records are clustered by _id", "indexDetails/_id_/*Bytes": "records are clustered by _id",
	"numOrphanDocs": "only a shard has orphans", "scaleFactor": "the argument",
	"freeStorageSize": "a compaction may have freed what the deletions left",
}

// emptyStatsMayStay holds the fields that may have the same value after the load in the statistics
// of the collections that getDiagnosticData reports. These collections have only the index on _id.
var emptyStatsMayStay = map[string]string{
	"indexSizes/_id_":     "records are clustered by _id",
	"indexDetails/_id_/*": "records are clustered by _id, and nobody looks for one",
	"numOrphanDocs":       "only a shard has orphans", "scaleFactor": "the argument",
	"nindexes":       "nobody creates indexes there",
	"totalIndexSize": "records are clustered by _id", "freeStorageSize": "nothing was removed",
}

// below returns patterns for the same fields below a path.
func below(path string, patterns map[string]string) map[string]string {
	out := map[string]string{}
	for p, reason := range patterns {
		out[path+"/"+p] = reason
	}
	return out
}

// union returns all patterns of several lists.
func union(lists ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, l := range lists {
		maps.Copy(out, l)
	}
	return out
}

func diagnostics() []diagnostic {
	oneBatch := map[string]string{"cursor/id": "all is in the first batch"}
	command := func(name, db string, arg any, stay map[string]string, more ...bson.E) diagnostic {
		return diagnostic{name: name, db: db, cmd: append(bson.D{{name, arg}}, more...), stay: union(mayStay, stay)}
	}
	stage := func(name, db string, coll, arg any, stay map[string]string) diagnostic {
		d := command("aggregate", db, coll, stay, bson.E{"cursor", bson.D{}},
			bson.E{"pipeline", bson.A{bson.D{{name, arg}}}})
		d.name = name
		return d
	}
	return []diagnostic{
		command("serverStatus", "admin", 1, statusMayStay),
		command("getDiagnosticData", "admin", 1, union(
			below("data/serverStatus", statusMayStay), below("data/replSetGetStatus", memberMayStay),
			below("data/systemMetrics", machineMayStay),
			below("data/local.oplog.rs.stats", emptyStatsMayStay),
			below("data/config.transactions.stats", emptyStatsMayStay),
			below("data/config.image_collection.stats", emptyStatsMayStay), map[string]string{
				"data/local.oplog.rs.stats/max":                  "the oplog is bounded by its bytes",
				"data/config.image_collection.stats/*torageSize": "the images are parts of other records",
				"data/config.image_collection.stats/totalSize":   "the images are parts of other records",
			},
		)),
		command("collStats", "d", "c", collStatsMayStay),
		command("dbStats", "d", 1,
			map[string]string{
				"fsTotalSize":     "of the disk",
				"*reeStorageSize": "a compaction may have freed what the deletions left",
				"fsUsedSize":      "other programs may free as much",
				"scaleFactor":     "the argument",
			}, bson.E{"freeStorage", 1}),
		command("listDatabases", "admin", 1, nil),
		command("replSetGetStatus", "admin", 1, memberMayStay),
		command("explain", "d",
			bson.D{
				{"find", "c"},
				{"filter", bson.D{{"tags", bson.D{{"$gte", 0}}}, {"b", bson.D{{"$ne", 13}}}}},
				{"hint", "tags_1"},
			}, explainMayStay),
		command("connPoolStats", "admin", 1, map[string]string{
			"num*":   "the server connects to no other member and no shard",
			"total*": "the server connects to no other member and no shard",
		}),
		command("hostInfo", "admin", 1, map[string]string{
			"system/mem*": "of the machine", "system/num*": "of the machine", "system/cpuAddrSize": "of the program",
			"extra/pageSize": "of the machine",
		}),
		command("validate", "d", "c", map[string]string{
			"nInvalidDocuments":      "no document is damaged; TestValidateCounts has some",
			"nNonCompliantDocuments": "no document is; TestValidateCounts has some",
		}),
		command("getLog", "admin", "global", nil),
		command("dataSize", "d", "d.c",
			map[string]string{"millis": "the counters are read in less than a millisecond"}),
		command("top", "admin", 1, nil),
		command("lockInfo", "admin", 1, nil),
		command("currentOp", "admin", 1, nil, bson.E{"$all", true}),
		stage("$currentOp", "admin", 1, bson.D{{"allUsers", true}, {"idleCursors", true}}, oneBatch),
		stage("$collStats", "d", "c", bson.D{
			{"latencyStats", bson.D{{"histograms", true}}},
			{"storageStats", bson.D{}},
			{"count", bson.D{}},
			{"queryExecStats", bson.D{}},
		}, union(oneBatch, below("cursor/firstBatch/0/storageStats", collStatsMayStay), map[string]string{
			"cursor/firstBatch/0/latencyStats/*/histogram/**": "an operation is counted in one of the buckets; recorded.TestShapesOfDiagnostics has their form",
			"cursor/firstBatch/0/latencyStats/transactions/*": "MongoDB counts whole transactions for the server only, too",
		})),
		stage("$indexStats", "d", "c", bson.D{}, union(oneBatch, map[string]string{
			"cursor/firstBatch/*/accesses/since": "when the index was made",
			"cursor/firstBatch/*/key/*":          "of the index",
			"cursor/firstBatch/*/spec/**":        "of the index",
		})),
		stage("$planCacheStats", "d", "c", bson.D{}, oneBatch),
		stage("$listLocalSessions", "d", 1, bson.D{{"allUsers", true}}, oneBatch),
	}
}
