"""From evidence to findings: what is slow, which single change explains it, what rules say."""
