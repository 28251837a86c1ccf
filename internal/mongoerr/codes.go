package mongoerr

// The codes that MongoDB has names for, in numerical order.
const (
	InternalError                             Code = 1
	BadValue                                  Code = 2
	NoSuchKey                                 Code = 4
	GraphContainsCycle                        Code = 5
	HostUnreachable                           Code = 6
	HostNotFound                              Code = 7
	UnknownError                              Code = 8
	FailedToParse                             Code = 9
	CannotMutateObject                        Code = 10
	UserNotFound                              Code = 11
	UnsupportedFormat                         Code = 12
	Unauthorized                              Code = 13
	TypeMismatch                              Code = 14
	Overflow                                  Code = 15
	InvalidLength                             Code = 16
	ProtocolError                             Code = 17
	AuthenticationFailed                      Code = 18
	IllegalOperation                          Code = 20
	EmptyArrayOperation                       Code = 21
	InvalidBSON                               Code = 22
	AlreadyInitialized                        Code = 23
	LockTimeout                               Code = 24
	NamespaceNotFound                         Code = 26
	IndexNotFound                             Code = 27
	PathNotViable                             Code = 28
	NonExistentPath                           Code = 29
	RoleNotFound                              Code = 31
	FileRenameFailed                          Code = 37
	ConflictingUpdateOperators                Code = 40
	CursorNotFound                            Code = 43
	NoMatchingDocument                        Code = 47
	NamespaceExists                           Code = 48
	MaxTimeMSExpired                          Code = 50
	DollarPrefixedFieldName                   Code = 52
	InvalidIdField                            Code = 53
	NotSingleValueField                       Code = 54
	InvalidDBRef                              Code = 55
	EmptyFieldName                            Code = 56
	DottedFieldName                           Code = 57
	CommandNotFound                           Code = 59
	ShardKeyNotFound                          Code = 61
	WriteConcernTimeout                       Code = 64
	MultipleErrorsOccurred                    Code = 65
	ImmutableField                            Code = 66
	CannotCreateIndex                         Code = 67
	IndexAlreadyExists                        Code = 68
	ShardNotFound                             Code = 70
	InvalidOptions                            Code = 72
	InvalidNamespace                          Code = 73
	NoReplicationEnabled                      Code = 76
	UnknownReplWriteConcern                   Code = 79
	IndexOptionsConflict                      Code = 85
	IndexKeySpecsConflict                     Code = 86
	NetworkTimeout                            Code = 89
	CallbackCanceled                          Code = 90
	ShutdownInProgress                        Code = 91
	NotYetInitialized                         Code = 94
	NotSecondary                              Code = 95
	OperationFailed                           Code = 96
	UnsatisfiableWriteConcern                 Code = 100
	NewReplicaSetConfigurationIncompatible    Code = 103
	WriteConflict                             Code = 112
	CommandNotSupported                       Code = 115
	DocTooLargeForCapped                      Code = 116
	ConflictingOperationInProgress            Code = 117
	NamespaceNotSharded                       Code = 118
	DocumentValidationFailure                 Code = 121
	NotAReplicaSet                            Code = 123
	CommandFailed                             Code = 125
	FailedToSatisfyReadPreference             Code = 133
	ReadConcernMajorityNotAvailableYet        Code = 134
	CappedPositionLost                        Code = 136
	JSInterpreterFailure                      Code = 139
	CursorInUse                               Code = 143
	ExceededMemoryLimit                       Code = 146
	StaleEpoch                                Code = 150
	OperationCannotBeBatched                  Code = 151
	ChunkTooBig                               Code = 153
	DurationOverflow                          Code = 159
	MaxStalenessOutOfRange                    Code = 160
	IncompatibleCollationVersion              Code = 161
	ViewDepthLimitExceeded                    Code = 165
	CommandNotSupportedOnView                 Code = 166
	OptionNotSupportedOnView                  Code = 167
	InvalidPipelineOperator                   Code = 168
	TooManyMatchingDocuments                  Code = 170
	CannotIndexParallelArrays                 Code = 171
	QueryPlanKilled                           Code = 175
	AmbiguousIndexKeyPattern                  Code = 181
	InvalidViewDefinition                     Code = 182
	ClientMetadataCannotBeMutated             Code = 186
	LinearizableReadConcernError              Code = 187
	PrimarySteppedDown                        Code = 189
	NoShardingEnabled                         Code = 193
	ViewPipelineMaxSizeExceeded               Code = 195
	InvalidIndexSpecificationOption           Code = 197
	ShardingStateNotInitialized               Code = 203
	ClusterTimeFailsRateLimiter               Code = 205
	NoSuchSession                             Code = 206
	InvalidUUID                               Code = 207
	StaleClusterTime                          Code = 209
	KeyNotFound                               Code = 211
	DuplicateSession                          Code = 213
	IncompleteTransactionHistory              Code = 217
	CloseChangeStream                         Code = 222
	IllegalOpMsgFlag                          Code = 223
	QueryFeatureNotAllowed                    Code = 224
	TransactionTooOld                         Code = 225
	AtomicityFailure                          Code = 226
	SessionTransferIncomplete                 Code = 228
	MaxSubPipelineDepthExceeded               Code = 232
	TooManyDocumentSequences                  Code = 233
	RetryChangeStream                         Code = 234
	CursorKilled                              Code = 237
	NotImplemented                            Code = 238
	SnapshotTooOld                            Code = 239
	ConversionFailure                         Code = 241
	CannotCreateCollection                    Code = 242
	TransactionAborted                        Code = 244
	SnapshotUnavailable                       Code = 246
	StaleChunkHistory                         Code = 250
	NoSuchTransaction                         Code = 251
	TransactionCommitted                      Code = 256
	TransactionTooLarge                       Code = 257
	UnknownFeatureCompatibilityVersion        Code = 258
	InvalidResumeToken                        Code = 260
	TooManyLogicalSessions                    Code = 261
	ExceededTimeLimit                         Code = 262
	OperationNotSupportedInTransaction        Code = 263
	PreparedTransactionInProgress             Code = 267
	MigrationConflict                         Code = 272
	ExchangePassthrough                       Code = 275
	IndexBuildAborted                         Code = 276
	UnsatisfiableCommitQuorum                 Code = 278
	ClientDisconnect                          Code = 279
	ChangeStreamFatalError                    Code = 280
	WouldChangeOwningShard                    Code = 283
	IndexBuildAlreadyInProgress               Code = 285
	ChangeStreamHistoryLost                   Code = 286
	ChecksumMismatch                          Code = 288
	TransactionExceededLifetimeLimitSeconds   Code = 290
	NoQueryExecutionPlans                     Code = 291
	QueryExceededMemoryLimitNoDiskUseAllowed  Code = 292
	SplitHorizonChange                        Code = 303
	APIVersionError                           Code = 322
	APIStrictError                            Code = 323
	APIDeprecationError                       Code = 324
	MechanismUnavailable                      Code = 334
	ChangeStreamInvalidated                   Code = 346
	APIMismatchError                          Code = 347
	ChangeStreamTopologyChange                Code = 348
	KeyPatternShorterThanBound                Code = 349
	UnsupportedOpQueryCommand                 Code = 352
	LoadBalancerSupportMismatch               Code = 354
	CannotConvertIndexToUnique                Code = 359
	CollectionUUIDMismatch                    Code = 361
	RetryableTransactionInProgress            Code = 363
	TemporarilyUnavailable                    Code = 365
	DataCorruptionDetected                    Code = 366
	UserWritesBlocked                         Code = 371
	ChangeStreamNotEnabled                    Code = 376
	DuplicateKeyId                            Code = 386
	ReauthenticationRequired                  Code = 391
	ResourceExhausted                         Code = 402
	QueryRejectedBySettings                   Code = 411
	RateLimitExceeded                         Code = 449
	IngressRequestRateLimitExceeded           Code = 462
	SocketException                           Code = 9001
	CannotGrowDocumentInCappedNamespace       Code = 10003
	LegacyNotPrimary                          Code = 10058
	NotWritablePrimary                        Code = 10107
	BSONObjectTooLarge                        Code = 10334
	DuplicateKey                              Code = 11000
	InterruptedAtShutdown                     Code = 11600
	Interrupted                               Code = 11601
	InterruptedDueToReplStateChange           Code = 11602
	BackgroundOperationInProgressForDatabase  Code = 12586
	BackgroundOperationInProgressForNamespace Code = 12587
	MergeStageNoMatchingDocument              Code = 13113
	DatabaseDifferCase                        Code = 13297
	StaleConfig                               Code = 13388
	NotPrimaryNoSecondaryOk                   Code = 13435
	NotPrimaryOrSecondary                     Code = 13436
	OutOfDiskSpace                            Code = 14031
	KeyTooLong                                Code = 17280
	SearchNotEnabled                          Code = 31082
	IDLDuplicateField                         Code = 40413
	IDLFailedToParse                          Code = 40414
	IDLUnknownField                           Code = 40415
)

var names = map[Code]string{
	InternalError:                             "InternalError",
	BadValue:                                  "BadValue",
	NoSuchKey:                                 "NoSuchKey",
	GraphContainsCycle:                        "GraphContainsCycle",
	HostUnreachable:                           "HostUnreachable",
	HostNotFound:                              "HostNotFound",
	UnknownError:                              "UnknownError",
	FailedToParse:                             "FailedToParse",
	CannotMutateObject:                        "CannotMutateObject",
	UserNotFound:                              "UserNotFound",
	UnsupportedFormat:                         "UnsupportedFormat",
	Unauthorized:                              "Unauthorized",
	TypeMismatch:                              "TypeMismatch",
	Overflow:                                  "Overflow",
	InvalidLength:                             "InvalidLength",
	ProtocolError:                             "ProtocolError",
	AuthenticationFailed:                      "AuthenticationFailed",
	IllegalOperation:                          "IllegalOperation",
	EmptyArrayOperation:                       "EmptyArrayOperation",
	InvalidBSON:                               "InvalidBSON",
	AlreadyInitialized:                        "AlreadyInitialized",
	LockTimeout:                               "LockTimeout",
	NamespaceNotFound:                         "NamespaceNotFound",
	IndexNotFound:                             "IndexNotFound",
	PathNotViable:                             "PathNotViable",
	NonExistentPath:                           "NonExistentPath",
	RoleNotFound:                              "RoleNotFound",
	FileRenameFailed:                          "FileRenameFailed",
	ConflictingUpdateOperators:                "ConflictingUpdateOperators",
	CursorNotFound:                            "CursorNotFound",
	NoMatchingDocument:                        "NoMatchingDocument",
	NamespaceExists:                           "NamespaceExists",
	MaxTimeMSExpired:                          "MaxTimeMSExpired",
	DollarPrefixedFieldName:                   "DollarPrefixedFieldName",
	InvalidIdField:                            "InvalidIdField",
	NotSingleValueField:                       "NotSingleValueField",
	InvalidDBRef:                              "InvalidDBRef",
	EmptyFieldName:                            "EmptyFieldName",
	DottedFieldName:                           "DottedFieldName",
	CommandNotFound:                           "CommandNotFound",
	ShardKeyNotFound:                          "ShardKeyNotFound",
	WriteConcernTimeout:                       "WriteConcernTimeout",
	MultipleErrorsOccurred:                    "MultipleErrorsOccurred",
	ImmutableField:                            "ImmutableField",
	CannotCreateIndex:                         "CannotCreateIndex",
	IndexAlreadyExists:                        "IndexAlreadyExists",
	ShardNotFound:                             "ShardNotFound",
	InvalidOptions:                            "InvalidOptions",
	InvalidNamespace:                          "InvalidNamespace",
	NoReplicationEnabled:                      "NoReplicationEnabled",
	UnknownReplWriteConcern:                   "UnknownReplWriteConcern",
	IndexOptionsConflict:                      "IndexOptionsConflict",
	IndexKeySpecsConflict:                     "IndexKeySpecsConflict",
	NetworkTimeout:                            "NetworkTimeout",
	CallbackCanceled:                          "CallbackCanceled",
	ShutdownInProgress:                        "ShutdownInProgress",
	NotYetInitialized:                         "NotYetInitialized",
	NotSecondary:                              "NotSecondary",
	OperationFailed:                           "OperationFailed",
	UnsatisfiableWriteConcern:                 "UnsatisfiableWriteConcern",
	NewReplicaSetConfigurationIncompatible:    "NewReplicaSetConfigurationIncompatible",
	WriteConflict:                             "WriteConflict",
	CommandNotSupported:                       "CommandNotSupported",
	DocTooLargeForCapped:                      "DocTooLargeForCapped",
	ConflictingOperationInProgress:            "ConflictingOperationInProgress",
	NamespaceNotSharded:                       "NamespaceNotSharded",
	DocumentValidationFailure:                 "DocumentValidationFailure",
	NotAReplicaSet:                            "NotAReplicaSet",
	CommandFailed:                             "CommandFailed",
	FailedToSatisfyReadPreference:             "FailedToSatisfyReadPreference",
	ReadConcernMajorityNotAvailableYet:        "ReadConcernMajorityNotAvailableYet",
	CappedPositionLost:                        "CappedPositionLost",
	JSInterpreterFailure:                      "JSInterpreterFailure",
	CursorInUse:                               "CursorInUse",
	ExceededMemoryLimit:                       "ExceededMemoryLimit",
	StaleEpoch:                                "StaleEpoch",
	OperationCannotBeBatched:                  "OperationCannotBeBatched",
	ChunkTooBig:                               "ChunkTooBig",
	DurationOverflow:                          "DurationOverflow",
	MaxStalenessOutOfRange:                    "MaxStalenessOutOfRange",
	IncompatibleCollationVersion:              "IncompatibleCollationVersion",
	ViewDepthLimitExceeded:                    "ViewDepthLimitExceeded",
	CommandNotSupportedOnView:                 "CommandNotSupportedOnView",
	OptionNotSupportedOnView:                  "OptionNotSupportedOnView",
	InvalidPipelineOperator:                   "InvalidPipelineOperator",
	TooManyMatchingDocuments:                  "TooManyMatchingDocuments",
	CannotIndexParallelArrays:                 "CannotIndexParallelArrays",
	QueryPlanKilled:                           "QueryPlanKilled",
	AmbiguousIndexKeyPattern:                  "AmbiguousIndexKeyPattern",
	InvalidViewDefinition:                     "InvalidViewDefinition",
	ClientMetadataCannotBeMutated:             "ClientMetadataCannotBeMutated",
	LinearizableReadConcernError:              "LinearizableReadConcernError",
	PrimarySteppedDown:                        "PrimarySteppedDown",
	NoShardingEnabled:                         "NoShardingEnabled",
	ViewPipelineMaxSizeExceeded:               "ViewPipelineMaxSizeExceeded",
	InvalidIndexSpecificationOption:           "InvalidIndexSpecificationOption",
	ShardingStateNotInitialized:               "ShardingStateNotInitialized",
	ClusterTimeFailsRateLimiter:               "ClusterTimeFailsRateLimiter",
	NoSuchSession:                             "NoSuchSession",
	InvalidUUID:                               "InvalidUUID",
	StaleClusterTime:                          "StaleClusterTime",
	KeyNotFound:                               "KeyNotFound",
	DuplicateSession:                          "DuplicateSession",
	IncompleteTransactionHistory:              "IncompleteTransactionHistory",
	CloseChangeStream:                         "CloseChangeStream",
	IllegalOpMsgFlag:                          "IllegalOpMsgFlag",
	QueryFeatureNotAllowed:                    "QueryFeatureNotAllowed",
	TransactionTooOld:                         "TransactionTooOld",
	AtomicityFailure:                          "AtomicityFailure",
	SessionTransferIncomplete:                 "SessionTransferIncomplete",
	MaxSubPipelineDepthExceeded:               "MaxSubPipelineDepthExceeded",
	TooManyDocumentSequences:                  "TooManyDocumentSequences",
	RetryChangeStream:                         "RetryChangeStream",
	CursorKilled:                              "CursorKilled",
	NotImplemented:                            "NotImplemented",
	SnapshotTooOld:                            "SnapshotTooOld",
	ConversionFailure:                         "ConversionFailure",
	CannotCreateCollection:                    "CannotCreateCollection",
	TransactionAborted:                        "TransactionAborted",
	SnapshotUnavailable:                       "SnapshotUnavailable",
	StaleChunkHistory:                         "StaleChunkHistory",
	NoSuchTransaction:                         "NoSuchTransaction",
	TransactionCommitted:                      "TransactionCommitted",
	TransactionTooLarge:                       "TransactionTooLarge",
	UnknownFeatureCompatibilityVersion:        "UnknownFeatureCompatibilityVersion",
	InvalidResumeToken:                        "InvalidResumeToken",
	TooManyLogicalSessions:                    "TooManyLogicalSessions",
	ExceededTimeLimit:                         "ExceededTimeLimit",
	OperationNotSupportedInTransaction:        "OperationNotSupportedInTransaction",
	PreparedTransactionInProgress:             "PreparedTransactionInProgress",
	MigrationConflict:                         "MigrationConflict",
	ExchangePassthrough:                       "ExchangePassthrough",
	IndexBuildAborted:                         "IndexBuildAborted",
	UnsatisfiableCommitQuorum:                 "UnsatisfiableCommitQuorum",
	ClientDisconnect:                          "ClientDisconnect",
	ChangeStreamFatalError:                    "ChangeStreamFatalError",
	WouldChangeOwningShard:                    "WouldChangeOwningShard",
	IndexBuildAlreadyInProgress:               "IndexBuildAlreadyInProgress",
	ChangeStreamHistoryLost:                   "ChangeStreamHistoryLost",
	ChecksumMismatch:                          "ChecksumMismatch",
	TransactionExceededLifetimeLimitSeconds:   "TransactionExceededLifetimeLimitSeconds",
	NoQueryExecutionPlans:                     "NoQueryExecutionPlans",
	QueryExceededMemoryLimitNoDiskUseAllowed:  "QueryExceededMemoryLimitNoDiskUseAllowed",
	SplitHorizonChange:                        "SplitHorizonChange",
	APIVersionError:                           "APIVersionError",
	APIStrictError:                            "APIStrictError",
	APIDeprecationError:                       "APIDeprecationError",
	MechanismUnavailable:                      "MechanismUnavailable",
	ChangeStreamInvalidated:                   "ChangeStreamInvalidated",
	APIMismatchError:                          "APIMismatchError",
	ChangeStreamTopologyChange:                "ChangeStreamTopologyChange",
	KeyPatternShorterThanBound:                "KeyPatternShorterThanBound",
	UnsupportedOpQueryCommand:                 "UnsupportedOpQueryCommand",
	LoadBalancerSupportMismatch:               "LoadBalancerSupportMismatch",
	CannotConvertIndexToUnique:                "CannotConvertIndexToUnique",
	CollectionUUIDMismatch:                    "CollectionUUIDMismatch",
	RetryableTransactionInProgress:            "RetryableTransactionInProgress",
	TemporarilyUnavailable:                    "TemporarilyUnavailable",
	DataCorruptionDetected:                    "DataCorruptionDetected",
	UserWritesBlocked:                         "UserWritesBlocked",
	ChangeStreamNotEnabled:                    "ChangeStreamNotEnabled",
	DuplicateKeyId:                            "DuplicateKeyId",
	ReauthenticationRequired:                  "ReauthenticationRequired",
	ResourceExhausted:                         "ResourceExhausted",
	QueryRejectedBySettings:                   "QueryRejectedBySettings",
	RateLimitExceeded:                         "RateLimitExceeded",
	IngressRequestRateLimitExceeded:           "IngressRequestRateLimitExceeded",
	SocketException:                           "SocketException",
	CannotGrowDocumentInCappedNamespace:       "CannotGrowDocumentInCappedNamespace",
	LegacyNotPrimary:                          "LegacyNotPrimary",
	NotWritablePrimary:                        "NotWritablePrimary",
	BSONObjectTooLarge:                        "BSONObjectTooLarge",
	DuplicateKey:                              "DuplicateKey",
	InterruptedAtShutdown:                     "InterruptedAtShutdown",
	Interrupted:                               "Interrupted",
	InterruptedDueToReplStateChange:           "InterruptedDueToReplStateChange",
	BackgroundOperationInProgressForDatabase:  "BackgroundOperationInProgressForDatabase",
	BackgroundOperationInProgressForNamespace: "BackgroundOperationInProgressForNamespace",
	MergeStageNoMatchingDocument:              "MergeStageNoMatchingDocument",
	DatabaseDifferCase:                        "DatabaseDifferCase",
	StaleConfig:                               "StaleConfig",
	NotPrimaryNoSecondaryOk:                   "NotPrimaryNoSecondaryOk",
	NotPrimaryOrSecondary:                     "NotPrimaryOrSecondary",
	OutOfDiskSpace:                            "OutOfDiskSpace",
	KeyTooLong:                                "KeyTooLong",
	SearchNotEnabled:                          "SearchNotEnabled",
	IDLDuplicateField:                         "IDLDuplicateField",
	IDLFailedToParse:                          "IDLFailedToParse",
	IDLUnknownField:                           "IDLUnknownField",
}
