package admin

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
)

// The commands that MongoDB 8.0 has and Sheaf has not yet. A command that gets its own Definition leaves its list.
var (
	knownNames = []string{
		// query plan cache, query settings
		"planCacheClearFilters", "planCacheSetFilter", "setQuerySettings", "removeQuerySettings",
		// users and roles
		"createUser", "updateUser", "dropUser", "dropAllUsersFromDatabase", "grantRolesToUser", "revokeRolesFromUser", "usersInfo",
		"createRole", "updateRole", "dropRole", "dropAllRolesFromDatabase", "grantPrivilegesToRole",
		"revokePrivilegesFromRole", "grantRolesToRole", "revokeRolesFromRole", "rolesInfo", "invalidateUserCache",
		"_mergeAuthzCollections",
		// transactions
		"prepareTransaction",
		// collections
		"compact", "autoCompact", "compactStructuredEncryptionData",
		"cleanupStructuredEncryptionData", "filemd5", "setIndexCommitQuorum",
		// administration
		"setUserWriteBlockMode", "rotateCertificates", "dropConnections",
		"getAuditConfig", "setAuditConfig", "logApplicationMessage",
		// diagnostics
		"dbHash", "driverOIDTest",
		// replication, queries, sharding
		"applyOps",
	}

	// shardingNames exist on mongos and config servers; a mongod knows them by no name.
	shardingNames = []string{
		"abortMoveCollection", "abortReshardCollection", "abortUnshardCollection", "addShard", "addShardToZone",
		"balancerCollectionStatus", "balancerStart", "balancerStatus", "balancerStop", "cleanupReshardCollection",
		"clearJumboFlag", "commitReshardCollection", "configureCollectionBalancing", "enableSharding",
		"listShards", "mergeAllChunksOnShard", "mergeChunks", "moveChunk", "moveCollection",
		"movePrimary", "moveRange", "refineCollectionShardKey", "removeShard", "removeShardFromZone", "reshardCollection",
		"setAllowMigrations", "setShardVersion", "shardCollection", "split",
		"transitionFromDedicatedConfigServer", "transitionToDedicatedConfigServer", "unshardCollection", "updateZoneKeyRange",
		"checkMetadataConsistency", "analyzeShardKey", "configureQueryAnalyzer", "shardConnPoolStats",
	}
)

// KnownCommands returns the commands that only have an error: NotImplemented if a mongod has
// them, and CommandNotFound if only a mongos has them.
func KnownCommands() []command.Definition {
	var defs []command.Definition
	for _, name := range slices.Concat(knownNames, shardingNames) {
		d := command.Definition{
			Name: name, Status: feature.Known, Loose: true, Hidden: true, Read: true, Snapshot: true,
			Properties: command.Properties{Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No},
		}
		if slices.Contains(shardingNames, name) {
			d.Status = feature.Absent
		}
		defs = append(defs, d)
	}
	return defs
}
