package driver2

import "os"

// exclusion names a test of the driver that is left out. Parts of its name stand between slashes, as `go test -v` prints them.
type exclusion struct {
	test   string
	reason string
}

// The reasons. Those with a number name the issue that builds what the test needs.
const (
	threeMembers = "needs a replica set of three members (issue 11)"
	noSecondary  = "selects a secondary, which a set of one member does not have (issue 11)"
	mongocryptd  = "needs mongocryptd, which the free server does not come with"
	publicDNS    = "asks the public DNS for records of MongoDB, Inc."
	olderFile    = "the test file, older than the driver, expects a maxTimeMS that the driver does not send; with SHEAF_SPECIFICATIONS it runs"
	otherRequest = "the driver sends {_id: {$eq: id}}, the test file expects {_id: id}: both before any server answers"
	inContainer  = "within a container the driver adds it to what it says of itself, which the test does not expect"
)

// exclusions is the whole list.
func exclusions() []exclusion {
	unified := "TestUnifiedSpec/"
	out := []exclusion{
		{unified + "server-selection/tests/logging/replica-set.json", threeMembers},
		{unified + "server-discovery-and-monitoring/tests/unified/logging-replicaset.json/Topology_lifecycle", threeMembers},
		{unified + "server-discovery-and-monitoring/tests/unified/logging-replicaset.json/Successful_heartbeat", threeMembers},
		{unified + "server-discovery-and-monitoring/tests/unified/replicaset-emit-topology-changed-before-close.json", threeMembers},
		{unified + "transactions/tests/unified/read-pref.json/secondary_readPreference", noSecondary},
		{unified + "transactions/tests/unified/transaction-options.json/readPreference_inherited_from_client", noSecondary},
		{unified + "transactions/tests/unified/transaction-options.json/readPreference_inherited_from_defaultTransactionOptions", noSecondary},
		{unified + "transactions/tests/unified/transaction-options.json/startTransaction_overrides_readPreference", noSecondary},
		{"TestRetryableReadsProse/retrying_reads_in_a_replica_set/overload_errors_retried_on_a_different_replicaset_server", noSecondary},
		{"TestSessionsMongocryptdProse", mongocryptd},
		{"TestInitialDNSSeedlistDiscoverySpec", publicDNS},
		{unified + "retryable-reads/tests/unified/gridfs-download.json", otherRequest},
		{unified + "retryable-reads/tests/unified/gridfs-download-serverErrors.json", otherRequest},
	}
	if os.Getenv("SHEAF_SPECIFICATIONS") == "" {
		out = append(out, exclusion{unified + "client-side-operations-timeout/tests/runCursorCommand.json/" +
			"Non-tailable_cursor_lifetime_remaining_timeoutMS_applied_to_getMore_if_timeoutMode_is_unset", olderFile})
	}
	if _, err := os.Stat("/.dockerenv"); err == nil {
		out = append(out, exclusion{"TestHandshakeProse", inContainer})
		for _, name := range []string{
			"Test1_Test2_Test3", "MultipleUpdatesWithDuplicateFields", "NotAppendedIfIdentical", "NotAppendedIfIdentical_NonSequential", "EmptyStrings",
			"EmptyStrings_InitializedClient",
		} {
			out = append(out, exclusion{"TestHandshakeProse_AppendMetadata_" + name, inContainer})
		}
	}
	return out
}

// slow are the tests that wait for long, which the quick part of the suites leaves out.
func slow() []exclusion {
	return []exclusion{
		{"TestErrorPropagationAfterEncounteringMultipleErrors", "waits for the driver's heartbeat fifteen times, 10 s each"},
		{"TestClientStress", "loads the server for a minute"},
		{"TestRetryableReadsProse", "waits for the driver's heartbeat, a minute together"},
		{
			"TestClientBulkWriteProse/5._MongoClient.bulkWrite_collects_WriteConcernErrors_across_batches",
			"waits for the driver's heartbeat twice",
		},
	}
}
