// What tokens of Google's are asked for.
export const GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
