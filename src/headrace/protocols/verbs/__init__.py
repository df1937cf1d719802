"""What each verb decides: a request in; a record to stage, a place to wait, or an answer out."""
