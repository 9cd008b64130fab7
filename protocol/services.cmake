# What serves the actors to other processes. Its sources stand in protocol/, but it comes after
# actors/, which uses the records and messages that protocol/ has, too.
reprieve_library(reprieve_protocol
  SOURCES protocol/api_server.cpp
  LINK reprieve_actors
  PRIVATE_LINK reprieve_service_messages)
