package descriptors

// Class is a finding's kind, as a word that programs may rely on.
type Class string

// The classes of what envoyproxy/ratelimit refuses, too.
const (
	yamlSyntax      Class = "yaml_syntax"
	typeMismatch    Class = "type_mismatch"
	badScalar       Class = "bad_scalar"
	nonStringKey    Class = "non_string_key"
	unknownKey      Class = "unknown_key"
	listOfNonMaps   Class = "list_of_non_maps"
	emptyDomain     Class = "empty_domain"
	duplicateDomain Class = "duplicate_domain"
	emptyKey        Class = "empty_key"
	duplicateRule   Class = "duplicate_descriptor"
	invalidUnit     Class = "invalid_unit"
	unlimitedUnit   Class = "unlimited_with_unit"
	replacesEmpty   Class = "replaces_empty"
	replacesSelf    Class = "replaces_self"
	shareNoWildcard Class = "share_threshold_without_wildcard"
	badMetadata     Class = "bad_metadata"
)

// The classes of what only rls refuses.
const (
	unreadable       Class = "unreadable"
	misplacedWord    Class = "misplaced_word"    // one of ours where it means nothing
	misplacedSetting Class = "misplaced_setting" // one that the rule's algorithm does not take
	invalidChoice    Class = "invalid_choice"    // none of a few words
	invalidPeriod    Class = "invalid_period"
	invalidName      Class = "invalid_name"
	invalidNumber    Class = "invalid_number" // a rule that cannot be
	incompleteRule   Class = "incomplete_rule"
	conflict         Class = "conflict" // with another place in the files
	tooMuch          Class = "too_much" // for one file
)

// The classes of warnings.
const (
	wrongLevel     Class = "wrong_level"
	repeatedKey    Class = "repeated_key"
	mergedOver     Class = "merged_over"
	moreDocuments  Class = "more_documents"
	noRequests     Class = "missing_requests_per_unit"
	ignoredSetting Class = "ignored_setting"
	unreachable    Class = "unreachable_rule"
	unknownName    Class = "unknown_name"
	repeatedName   Class = "repeated_name"
	parentLimit    Class = "parent_limit"
	largeLog       Class = "large_log"
	modeNoLimit    Class = "mode_without_limit"
	exactPath      Class = "exact_path"
	adaptivePerKey Class = "adaptive_per_key"
	adaptiveStill  Class = "adaptive_still"
	adaptiveBurst  Class = "adaptive_burst"
	adaptiveRare   Class = "adaptive_rare"
)
