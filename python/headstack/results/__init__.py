"""What a result says: records, tables, goals, answers, comparisons, prices."""
