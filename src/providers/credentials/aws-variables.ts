// The variables with which AWS's platforms and tools locate a role's keys.
import type { VariableReader } from "./variable-reader.ts"

export const AWS_VARIABLES = [
  "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_ROLE_ARN",
  "AWS_ROLE_SESSION_NAME",
  "AWS_ENDPOINT_URL_STS",
  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
  "AWS_CONTAINER_CREDENTIALS_FULL_URI",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
  "AWS_EC2_METADATA_SERVICE_ENDPOINT",
  "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
  "AWS_EC2_METADATA_DISABLED",
] as const

export type AwsVariables = VariableReader<(typeof AWS_VARIABLES)[number]>
