package mongoerr

// The codes that MongoDB has names for and this project uses, in numerical order.
const (
	InternalError                            Code = 1
	BadValue                                 Code = 2
	NoSuchKey                                Code = 4
	GraphContainsCycle                       Code = 5
	HostUnreachable                          Code = 6
	HostNotFound                             Code = 7
	FailedToParse                            Code = 9
	UnsupportedFormat                        Code = 12
	Unauthorized                             Code = 13
	TypeMismatch                             Code = 14
	Overflow                                 Code = 15
	InvalidLength                            Code = 16
	ProtocolError                            Code = 17
	AuthenticationFailed                     Code = 18
	IllegalOperation                         Code = 20
	InvalidBSON                              Code = 22
	AlreadyInitialized                       Code = 23
	LockTimeout                              Code = 24
	NamespaceNotFound                        Code = 26
	IndexNotFound                            Code = 27
	PathNotViable                            Code = 28
	CannotBackfillArray                      Code = 34
	FileRenameFailed                         Code = 37
	ConflictingUpdateOperators               Code = 40
	CursorNotFound                           Code = 43
	NoMatchingDocument                       Code = 47
	NamespaceExists                          Code = 48
	MaxTimeMSExpired                         Code = 50
	DollarPrefixedFieldName                  Code = 52
	InvalidIdField                           Code = 53
	NotSingleValueField                      Code = 54
	EmptyFieldName                           Code = 56
	CommandNotFound                          Code = 59
	ImmutableField                           Code = 66
	CannotCreateIndex                        Code = 67
	IndexAlreadyExists                       Code = 68
	InvalidOptions                           Code = 72
	InvalidNamespace                         Code = 73
	NoReplicationEnabled                     Code = 76
	UnknownReplWriteConcern                  Code = 79
	IndexOptionsConflict                     Code = 85
	IndexKeySpecsConflict                    Code = 86
	NetworkTimeout                           Code = 89
	CallbackCanceled                         Code = 90
	ShutdownInProgress                       Code = 91
	NotSecondary                             Code = 95
	OperationFailed                          Code = 96
	UnsatisfiableWriteConcern                Code = 100
	NewReplicaSetConfigurationIncompatible   Code = 103
	NotExactValueField                       Code = 111
	WriteConflict                            Code = 112
	CommandNotSupported                      Code = 115
	ConflictingOperationInProgress           Code = 117
	DocumentValidationFailure                Code = 121
	NotAReplicaSet                           Code = 123
	CommandFailed                            Code = 125
	FailedToSatisfyReadPreference            Code = 133
	ReadConcernMajorityNotAvailableYet       Code = 134
	CappedPositionLost                       Code = 136
	JSInterpreterFailure                     Code = 139
	CursorInUse                              Code = 143
	ExceededMemoryLimit                      Code = 146
	StaleEpoch                               Code = 150
	DurationOverflow                         Code = 159
	MaxStalenessOutOfRange                   Code = 160
	IncompatibleCollationVersion             Code = 161
	ViewDepthLimitExceeded                   Code = 165
	CommandNotSupportedOnView                Code = 166
	OptionNotSupportedOnView                 Code = 167
	InvalidPipelineOperator                  Code = 168
	CannotIndexParallelArrays                Code = 171
	QueryPlanKilled                          Code = 175
	AmbiguousIndexKeyPattern                 Code = 181
	ClientMetadataMissingField               Code = 183
	ClientMetadataAppNameTooLarge            Code = 184
	ClientMetadataDocumentTooLarge           Code = 185
	ClientMetadataCannotBeMutated            Code = 186
	PrimarySteppedDown                       Code = 189
	NoShardingEnabled                        Code = 193
	InvalidIndexSpecificationOption          Code = 197
	CannotBuildIndexKeys                     Code = 201
	ShardingStateNotInitialized              Code = 203
	ClusterTimeFailsRateLimiter              Code = 205
	InvalidUUID                              Code = 207
	StaleClusterTime                         Code = 209
	IncompleteTransactionHistory             Code = 217
	IllegalOpMsgFlag                         Code = 223
	QueryFeatureNotAllowed                   Code = 224
	TransactionTooOld                        Code = 225
	MaxSubPipelineDepthExceeded              Code = 232
	TooManyDocumentSequences                 Code = 233
	RetryChangeStream                        Code = 234
	CursorKilled                             Code = 237
	NotImplemented                           Code = 238
	SnapshotTooOld                           Code = 239
	ConversionFailure                        Code = 241
	SnapshotUnavailable                      Code = 246
	StaleDbVersion                           Code = 249
	NoSuchTransaction                        Code = 251
	TransactionCommitted                     Code = 256
	TransactionTooLarge                      Code = 257
	InvalidResumeToken                       Code = 260
	TooManyLogicalSessions                   Code = 261
	ExceededTimeLimit                        Code = 262
	OperationNotSupportedInTransaction       Code = 263
	FailPointSetFailed                       Code = 266
	PreparedTransactionInProgress            Code = 267
	MigrationConflict                        Code = 272
	IndexBuildAborted                        Code = 276
	UnsatisfiableCommitQuorum                Code = 278
	ClientDisconnect                         Code = 279
	ChangeStreamFatalError                   Code = 280
	IndexBuildAlreadyInProgress              Code = 285
	ChangeStreamHistoryLost                  Code = 286
	ChecksumMismatch                         Code = 288
	TransactionExceededLifetimeLimitSeconds  Code = 290
	NoQueryExecutionPlans                    Code = 291
	QueryExceededMemoryLimitNoDiskUseAllowed Code = 292
	APIVersionError                          Code = 322
	APIStrictError                           Code = 323
	APIMismatchError                         Code = 347
	KeyPatternShorterThanBound               Code = 349
	UnsupportedOpQueryCommand                Code = 352
	CannotConvertIndexToUnique               Code = 359
	CollectionUUIDMismatch                   Code = 361
	DataCorruptionDetected                   Code = 366
	SocketException                          Code = 9001
	NotWritablePrimary                       Code = 10107
	BSONObjectTooLarge                       Code = 10334
	DuplicateKey                             Code = 11000
	InterruptedAtShutdown                    Code = 11600
	Interrupted                              Code = 11601
	InterruptedDueToReplStateChange          Code = 11602
	MergeStageNoMatchingDocument             Code = 13113
	DatabaseDifferCase                       Code = 13297
	StaleConfig                              Code = 13388
	NotPrimaryNoSecondaryOk                  Code = 13435
	NotPrimaryOrSecondary                    Code = 13436
	OutOfDiskSpace                           Code = 14031
	SearchNotEnabled                         Code = 31082
	IDLDuplicateField                        Code = 40413
	IDLFailedToParse                         Code = 40414
	IDLUnknownField                          Code = 40415
	NotARetryableWriteCommand                Code = 50768
)

// names has all names that a reply can show: fail points and tests name any code by its number.
var names = map[Code]string{
	InternalError:                            "InternalError",
	BadValue:                                 "BadValue",
	NoSuchKey:                                "NoSuchKey",
	GraphContainsCycle:                       "GraphContainsCycle",
	HostUnreachable:                          "HostUnreachable",
	HostNotFound:                             "HostNotFound",
	FailedToParse:                            "FailedToParse",
	UnsupportedFormat:                        "UnsupportedFormat",
	Unauthorized:                             "Unauthorized",
	TypeMismatch:                             "TypeMismatch",
	Overflow:                                 "Overflow",
	InvalidLength:                            "InvalidLength",
	ProtocolError:                            "ProtocolError",
	AuthenticationFailed:                     "AuthenticationFailed",
	IllegalOperation:                         "IllegalOperation",
	InvalidBSON:                              "InvalidBSON",
	AlreadyInitialized:                       "AlreadyInitialized",
	LockTimeout:                              "LockTimeout",
	NamespaceNotFound:                        "NamespaceNotFound",
	IndexNotFound:                            "IndexNotFound",
	PathNotViable:                            "PathNotViable",
	CannotBackfillArray:                      "CannotBackfillArray",
	FileRenameFailed:                         "FileRenameFailed",
	ConflictingUpdateOperators:               "ConflictingUpdateOperators",
	CursorNotFound:                           "CursorNotFound",
	NoMatchingDocument:                       "NoMatchingDocument",
	NamespaceExists:                          "NamespaceExists",
	MaxTimeMSExpired:                         "MaxTimeMSExpired",
	DollarPrefixedFieldName:                  "DollarPrefixedFieldName",
	InvalidIdField:                           "InvalidIdField",
	NotSingleValueField:                      "NotSingleValueField",
	EmptyFieldName:                           "EmptyFieldName",
	CommandNotFound:                          "CommandNotFound",
	ImmutableField:                           "ImmutableField",
	CannotCreateIndex:                        "CannotCreateIndex",
	IndexAlreadyExists:                       "IndexAlreadyExists",
	InvalidOptions:                           "InvalidOptions",
	InvalidNamespace:                         "InvalidNamespace",
	NoReplicationEnabled:                     "NoReplicationEnabled",
	UnknownReplWriteConcern:                  "UnknownReplWriteConcern",
	IndexOptionsConflict:                     "IndexOptionsConflict",
	IndexKeySpecsConflict:                    "IndexKeySpecsConflict",
	NetworkTimeout:                           "NetworkTimeout",
	CallbackCanceled:                         "CallbackCanceled",
	ShutdownInProgress:                       "ShutdownInProgress",
	NotSecondary:                             "NotSecondary",
	OperationFailed:                          "OperationFailed",
	UnsatisfiableWriteConcern:                "UnsatisfiableWriteConcern",
	NewReplicaSetConfigurationIncompatible:   "NewReplicaSetConfigurationIncompatible",
	NotExactValueField:                       "NotExactValueField",
	WriteConflict:                            "WriteConflict",
	CommandNotSupported:                      "CommandNotSupported",
	ConflictingOperationInProgress:           "ConflictingOperationInProgress",
	DocumentValidationFailure:                "DocumentValidationFailure",
	NotAReplicaSet:                           "NotAReplicaSet",
	CommandFailed:                            "CommandFailed",
	FailedToSatisfyReadPreference:            "FailedToSatisfyReadPreference",
	ReadConcernMajorityNotAvailableYet:       "ReadConcernMajorityNotAvailableYet",
	CappedPositionLost:                       "CappedPositionLost",
	JSInterpreterFailure:                     "JSInterpreterFailure",
	CursorInUse:                              "CursorInUse",
	ExceededMemoryLimit:                      "ExceededMemoryLimit",
	StaleEpoch:                               "StaleEpoch",
	DurationOverflow:                         "DurationOverflow",
	MaxStalenessOutOfRange:                   "MaxStalenessOutOfRange",
	IncompatibleCollationVersion:             "IncompatibleCollationVersion",
	ViewDepthLimitExceeded:                   "ViewDepthLimitExceeded",
	CommandNotSupportedOnView:                "CommandNotSupportedOnView",
	OptionNotSupportedOnView:                 "OptionNotSupportedOnView",
	InvalidPipelineOperator:                  "InvalidPipelineOperator",
	CannotIndexParallelArrays:                "CannotIndexParallelArrays",
	QueryPlanKilled:                          "QueryPlanKilled",
	AmbiguousIndexKeyPattern:                 "AmbiguousIndexKeyPattern",
	ClientMetadataMissingField:               "ClientMetadataMissingField",
	ClientMetadataAppNameTooLarge:            "ClientMetadataAppNameTooLarge",
	ClientMetadataDocumentTooLarge:           "ClientMetadataDocumentTooLarge",
	ClientMetadataCannotBeMutated:            "ClientMetadataCannotBeMutated",
	PrimarySteppedDown:                       "PrimarySteppedDown",
	NoShardingEnabled:                        "NoShardingEnabled",
	InvalidIndexSpecificationOption:          "InvalidIndexSpecificationOption",
	CannotBuildIndexKeys:                     "CannotBuildIndexKeys",
	ShardingStateNotInitialized:              "ShardingStateNotInitialized",
	ClusterTimeFailsRateLimiter:              "ClusterTimeFailsRateLimiter",
	InvalidUUID:                              "InvalidUUID",
	StaleClusterTime:                         "StaleClusterTime",
	IncompleteTransactionHistory:             "IncompleteTransactionHistory",
	IllegalOpMsgFlag:                         "IllegalOpMsgFlag",
	QueryFeatureNotAllowed:                   "QueryFeatureNotAllowed",
	TransactionTooOld:                        "TransactionTooOld",
	MaxSubPipelineDepthExceeded:              "MaxSubPipelineDepthExceeded",
	TooManyDocumentSequences:                 "TooManyDocumentSequences",
	RetryChangeStream:                        "RetryChangeStream",
	CursorKilled:                             "CursorKilled",
	NotImplemented:                           "NotImplemented",
	SnapshotTooOld:                           "SnapshotTooOld",
	ConversionFailure:                        "ConversionFailure",
	SnapshotUnavailable:                      "SnapshotUnavailable",
	StaleDbVersion:                           "StaleDbVersion",
	NoSuchTransaction:                        "NoSuchTransaction",
	TransactionCommitted:                     "TransactionCommitted",
	TransactionTooLarge:                      "TransactionTooLarge",
	InvalidResumeToken:                       "InvalidResumeToken",
	TooManyLogicalSessions:                   "TooManyLogicalSessions",
	ExceededTimeLimit:                        "ExceededTimeLimit",
	OperationNotSupportedInTransaction:       "OperationNotSupportedInTransaction",
	FailPointSetFailed:                       "FailPointSetFailed",
	PreparedTransactionInProgress:            "PreparedTransactionInProgress",
	MigrationConflict:                        "MigrationConflict",
	IndexBuildAborted:                        "IndexBuildAborted",
	UnsatisfiableCommitQuorum:                "UnsatisfiableCommitQuorum",
	ClientDisconnect:                         "ClientDisconnect",
	ChangeStreamFatalError:                   "ChangeStreamFatalError",
	IndexBuildAlreadyInProgress:              "IndexBuildAlreadyInProgress",
	ChangeStreamHistoryLost:                  "ChangeStreamHistoryLost",
	ChecksumMismatch:                         "ChecksumMismatch",
	TransactionExceededLifetimeLimitSeconds:  "TransactionExceededLifetimeLimitSeconds",
	NoQueryExecutionPlans:                    "NoQueryExecutionPlans",
	QueryExceededMemoryLimitNoDiskUseAllowed: "QueryExceededMemoryLimitNoDiskUseAllowed",
	APIVersionError:                          "APIVersionError",
	APIStrictError:                           "APIStrictError",
	APIMismatchError:                         "APIMismatchError",
	KeyPatternShorterThanBound:               "KeyPatternShorterThanBound",
	UnsupportedOpQueryCommand:                "UnsupportedOpQueryCommand",
	CannotConvertIndexToUnique:               "CannotConvertIndexToUnique",
	CollectionUUIDMismatch:                   "CollectionUUIDMismatch",
	DataCorruptionDetected:                   "DataCorruptionDetected",
	SocketException:                          "SocketException",
	NotWritablePrimary:                       "NotWritablePrimary",
	BSONObjectTooLarge:                       "BSONObjectTooLarge",
	DuplicateKey:                             "DuplicateKey",
	InterruptedAtShutdown:                    "InterruptedAtShutdown",
	Interrupted:                              "Interrupted",
	InterruptedDueToReplStateChange:          "InterruptedDueToReplStateChange",
	MergeStageNoMatchingDocument:             "MergeStageNoMatchingDocument",
	DatabaseDifferCase:                       "DatabaseDifferCase",
	StaleConfig:                              "StaleConfig",
	NotPrimaryNoSecondaryOk:                  "NotPrimaryNoSecondaryOk",
	NotPrimaryOrSecondary:                    "NotPrimaryOrSecondary",
	OutOfDiskSpace:                           "OutOfDiskSpace",
	SearchNotEnabled:                         "SearchNotEnabled",
	IDLDuplicateField:                        "IDLDuplicateField",
	IDLFailedToParse:                         "IDLFailedToParse",
	IDLUnknownField:                          "IDLUnknownField",
	NotARetryableWriteCommand:                "NotARetryableWriteCommand",

	8:     "UnknownError",
	10:    "CannotMutateObject",
	11:    "UserNotFound",
	21:    "EmptyArrayOperation",
	29:    "NonExistentPath",
	31:    "RoleNotFound",
	55:    "InvalidDBRef",
	57:    "DottedFieldName",
	61:    "ShardKeyNotFound",
	64:    "WriteConcernTimeout",
	65:    "MultipleErrorsOccurred",
	70:    "ShardNotFound",
	94:    "NotYetInitialized",
	116:   "DocTooLargeForCapped",
	118:   "NamespaceNotSharded",
	151:   "OperationCannotBeBatched",
	153:   "ChunkTooBig",
	170:   "TooManyMatchingDocuments",
	182:   "InvalidViewDefinition",
	187:   "LinearizableReadConcernError",
	195:   "ViewPipelineMaxSizeExceeded",
	206:   "NoSuchSession",
	211:   "KeyNotFound",
	213:   "DuplicateSession",
	222:   "CloseChangeStream",
	226:   "AtomicityFailure",
	228:   "SessionTransferIncomplete",
	242:   "CannotCreateCollection",
	244:   "TransactionAborted",
	250:   "StaleChunkHistory",
	258:   "UnknownFeatureCompatibilityVersion",
	275:   "ExchangePassthrough",
	283:   "WouldChangeOwningShard",
	303:   "SplitHorizonChange",
	324:   "APIDeprecationError",
	334:   "MechanismUnavailable",
	346:   "ChangeStreamInvalidated",
	348:   "ChangeStreamTopologyChange",
	354:   "LoadBalancerSupportMismatch",
	363:   "RetryableTransactionInProgress",
	365:   "TemporarilyUnavailable",
	371:   "UserWritesBlocked",
	376:   "ChangeStreamNotEnabled",
	386:   "DuplicateKeyId",
	391:   "ReauthenticationRequired",
	402:   "ResourceExhausted",
	411:   "QueryRejectedBySettings",
	449:   "RateLimitExceeded",
	462:   "IngressRequestRateLimitExceeded",
	10003: "CannotGrowDocumentInCappedNamespace",
	10058: "LegacyNotPrimary",
	12586: "BackgroundOperationInProgressForDatabase",
	12587: "BackgroundOperationInProgressForNamespace",
	17280: "KeyTooLong",
}
