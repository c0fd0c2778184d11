// The OAuth scope of Google's tokens.
export const GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
