// The day under which a key's sum of all days stands, beside those days.

export const TOTAL_DAY = -1
